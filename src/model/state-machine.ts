/**
 * A state machine as data. The types, the drawing in docs/concepts/state-machines.md and the tests come from
 * it; the database's own guards (migrations/0005, 0006 and 0010) are compared with it, move by move.
 */
export interface StateMachine<Status extends string> {
  readonly statuses: readonly Status[]
  readonly initial: Status
  readonly moves: readonly { readonly from: Status; readonly to: Status; readonly when: string }[]
}

/** Final: no move leads out of it, and the database freezes the row. */
export function isFinal<Status extends string>(machine: StateMachine<Status>, status: Status): boolean {
  return machine.moves.every((move) => move.from !== status)
}
