/**
 * A state machine as data. The types, the diagrams in docs/concepts/state-machines.md and the tests are derived from
 * it; the database's own guards (migrations/0005, 0006 and 0010) are compared with it, move by move.
 */
export interface StateMachine<Status extends string> {
  readonly statuses: readonly Status[]
  readonly initial: Status
  readonly moves: readonly { readonly from: Status; readonly to: Status; readonly when: string }[]
}

/** True when no move leads out of the state; the database freezes the row. */
export function isFinal<Status extends string>(machine: StateMachine<Status>, status: Status): boolean {
  return machine.moves.every((move) => move.from !== status)
}
