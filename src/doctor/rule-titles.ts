/** The rules behind the invariants, by id, with their titles in docs/internals/rules.md. */
export const ruleTitles = {
  S3: 'One saga per event and subscription',
  S4: 'A result is applied once',
  S5: 'The statuses of a saga and its moves',
  S9: 'One active job while in progress',
  S10: 'No job before the retry is due',
  S11: 'A final saga never changes',
  S12: 'A retry needs a failed job, attempts left and a due time',
  S13: 'A new result counts once',
  S14: 'The backoff is deterministic',
  S15: 'The retry limit is configured',
  S16: 'A job is created only from Pending or for a due retry',
  S17: 'A new failure leads to a retry or a dead letter',
  S18: 'A new success completes the saga',
  S19: 'Requeueing creates a new saga',
  S22: 'What was acknowledged is durable',
  J1: 'The table of jobs',
  J3: 'A job is one attempt',
  J8: 'The cleaner frees lost leases',
  J11: 'What is recorded about a failure',
  J12: 'The statuses of a job and its moves',
  D1: 'The table of dead letters',
  D2: 'The payload is kept byte for byte',
  D3: 'A dead saga has one dead letter',
  D4: 'A requeue creates a saga and nothing else',
  E2: 'Events are append-only',
  U5: 'Only active, verified subscriptions get sagas',
  R1: 'No event is left unrouted',
  R2: 'Each matching subscription gets one saga',
  R3: 'Routing can be repeated',
  R5: 'Cached subscriptions are never stale',
  G1: 'The table of sagas',
  G2: 'The table of steps',
  G6: 'The history is complete',
  G14: 'A coordinator runs the sagas',
} as const

export type RuleId = keyof typeof ruleTitles

/** The id, with the rule's title if an invariant checks it. */
export function nameRule(id: string): string {
  const titles: Readonly<Record<string, string>> = ruleTitles
  return titles[id] === undefined ? id : `${id} ${titles[id]}`
}
