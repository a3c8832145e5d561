import type { MarkName } from './marks.js'

/** What `serve --only` is given, and how many processes of each run. */
export const parts = ['api', 'router', 'orchestrator', 'worker', 'cleaner', 'sagas'] as const
export type Part = (typeof parts)[number]
export const PROCESSES_OF_EACH_PART = 2

/** Connections outside the parts: publishers by SQL and starters of sagas. */
export const PUBLISHER = 'publisher'

/** How a receiver can fail. */
export const receiverModes = ['error', 'unavailable', 'hang', 'drip', 'flood', 'reset', 'refuse'] as const
export type ReceiverMode = (typeof receiverModes)[number]

export const receiverNames = ['first', 'second', 'third', 'fourth'] as const
export type ReceiverName = (typeof receiverNames)[number]

/** Before: PostgreSQL never sees the statement. After: it has answered, and nobody hears it. Heard: the answer goes on. */
export type MarkMoment = 'before' | 'after' | 'heard'

interface Timed {
  /** From the beginning of the schedule. */
  atMs: number
  /** How long it lasts, or how long the killed one stays away. */
  lengthMs: number
}

interface AtMark {
  /** A process, or the publisher. */
  target: string
  mark: MarkName
  moment: MarkMoment
  /** At the so-many-th statement of this kind. */
  count: number
}

export type Fault = Timed &
  (
    | { kind: 'kill'; target: string }
    | ({ kind: 'kill-at-mark' } & AtMark)
    | ({ kind: 'cut-at-mark' } & AtMark)
    | { kind: 'pause'; target: string }
    | { kind: 'skew-clock'; target: string; skewMs: number }
    | { kind: 'cut'; target: string }
    | { kind: 'delay'; target: string; delayMs: number }
    | { kind: 'drip'; target: string }
    | {
        kind: 'black-hole'
        target: string /** Half-open: requests get through, answers do not. */
        half: boolean
      }
    | { kind: 'crash-postgres' }
    | { kind: 'crash-at-mark'; target: string; mark: MarkName; count: number }
    | { kind: 'kill-backend' }
    | { kind: 'exhaust-connections' }
    | { kind: 'fill-disk' }
    | { kind: 'promote-standby' }
    | { kind: 'long-transaction'; commits: boolean }
    | { kind: 'fail-receiver'; receiver: ReceiverName; mode: ReceiverMode }
  )

export type FaultKind = Fault['kind']

/** Of a process or its connections; any number at once. */
export const processKinds = [
  'kill',
  'kill-at-mark',
  'cut-at-mark',
  'pause',
  'skew-clock',
  'cut',
  'delay',
  'drip',
  'black-hole',
] as const satisfies readonly FaultKind[]

/** Of the server: one after the other. */
export const serverKinds = [
  'crash-postgres',
  'crash-at-mark',
  'kill-backend',
  'exhaust-connections',
  'fill-disk',
  'promote-standby',
] as const satisfies readonly FaultKind[]

/** Beside all others. */
export const otherKinds = ['long-transaction', 'fail-receiver'] as const satisfies readonly FaultKind[]

export const faultKinds: readonly FaultKind[] = [...processKinds, ...serverKinds, ...otherKinds]
