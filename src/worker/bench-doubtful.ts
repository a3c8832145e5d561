import type { Lanes } from './lanes.js'

/** The least time between two looks at who may have another try: each may bring a claim of jobs that have to go back. */
const RETURN_EVERY_MS = 1_000

/** Doubtful subscriptions whose jobs are left to themselves while their share of the slots is taken. */
export interface Bench<Job> {
  /** Puts the jobs into their lanes; those that are not worth holding come back, and no more of theirs is claimed for now. */
  add(jobs: readonly Job[]): Job[]
  /** Nothing more is claimed for those of them that are doubtful, as if their jobs had come and gone back. */
  passOver(subscriptionIds: readonly string[]): void
  /** Whom to claim nothing for at this moment. */
  benched(nowMs: number): string[]
  /** When somebody may have another try. */
  lookInMs(): number
}

/**
 * Nobody can tell that an endpoint is bad before it was tried, and nobody can claim the jobs of those alone that have
 * answered before: so what comes is looked at, and whoever came too many is passed over for a while, with all who stand
 * in line behind. However many they are, no more is held of them than their share, and one after the other gets its turn.
 */
export function benchDoubtful<Job extends { subscriptionId: string }>(
  lanes: Pick<Lanes<Job>, 'add' | 'roomFor' | 'roomForDoubtful' | 'doubtful'>,
  isDoubtful: (subscriptionId: string) => boolean,
): Bench<Job> {
  // The longest first.
  const bench = new Set<string>()
  let returnedAtMs = Number.NEGATIVE_INFINITY
  return {
    add(jobs) {
      const refused: Job[] = []
      for (const job of jobs) {
        if (lanes.roomFor(job.subscriptionId) > 0) lanes.add(job)
        else {
          bench.add(job.subscriptionId)
          refused.push(job)
        }
      }
      return refused
    },
    passOver(subscriptionIds) {
      for (const id of subscriptionIds) if (isDoubtful(id)) bench.add(id)
    },
    benched(nowMs) {
      for (const id of bench) if (!isDoubtful(id)) bench.delete(id)
      let room = lanes.roomForDoubtful()
      if (room === 0) return [...bench, ...lanes.doubtful()]
      if (nowMs - returnedAtMs >= RETURN_EVERY_MS) {
        returnedAtMs = nowMs
        for (const id of bench) if (room-- > 0) bench.delete(id)
      }
      return [...bench]
    },
    lookInMs: () => (bench.size > 0 ? RETURN_EVERY_MS : Number.POSITIVE_INFINITY),
  }
}
