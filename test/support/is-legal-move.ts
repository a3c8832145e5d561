import type { StateMachine } from '../../src/model/state-machine.js'

export function isLegalMove<Status extends string>(
  machine: StateMachine<Status>,
  from: Status,
  to: Status,
): boolean {
  return machine.moves.some((move) => move.from === from && move.to === to)
}
