/** Claimed ahead, so that a free slot finds its next job in memory. */
const PREFETCH_FACTOR = 2
/** Of all slots, the share that one subscription may hold: a dead endpoint leaves the rest to the others. */
const SUBSCRIPTION_SHARE = 0.5
/** Of all slots, the share that doubtful subscriptions may hold together: a thousand that hang leave the rest to the others. */
const DOUBTFUL_SHARE = 0.5

interface Lane<Job> {
  running: number
  queue: Job[]
}

/**
 * The jobs that a worker holds, a lane per subscription, with bounded slots in all and per lane. A slow endpoint
 * fills its own lane and nothing else: what waits behind it takes no room from the others, and free slots go round.
 */
export interface Lanes<Job> {
  add(job: Job): void
  /** The next job that may begin now, of a doubtful subscription only if that may; it holds a slot until `done`. */
  next(may?: { doubtful: boolean }): Job | undefined
  done(subscriptionId: string): void
  /** How many more jobs are worth claiming. */
  room(): number
  /** Lanes that hold as many jobs as they should: claim none for them. */
  full(): string[]
  /** How many more jobs of this subscription are worth holding: those that are doubtful share less than all slots. */
  roomFor(subscriptionId: string): number
  /** How many more jobs of doubtful subscriptions are worth holding. */
  roomForDoubtful(): number
  /** Those of them that hold jobs. */
  doubtful(): string[]
  /** Takes queued jobs out again, those that `unwanted` picks. */
  withdraw(unwanted: (job: Job) => boolean): Job[]
}

export function createLanes<Job extends { subscriptionId: string }>(
  concurrency: number,
  isDoubtful: (subscriptionId: string) => boolean = () => false,
): Lanes<Job> {
  const slotsPerLane = Math.max(1, Math.ceil(concurrency * SUBSCRIPTION_SHARE))
  const heldPerLaneMax = Math.ceil(slotsPerLane * PREFETCH_FACTOR)
  const heldMax = Math.ceil(concurrency * PREFETCH_FACTOR)
  const slotsOfDoubtful = Math.max(1, Math.floor(concurrency * DOUBTFUL_SHARE))
  const slotsPerDoubtful = Math.ceil(slotsOfDoubtful * SUBSCRIPTION_SHARE)
  const heldOfDoubtfulMax = slotsOfDoubtful * PREFETCH_FACTOR
  // In the order of their turns: whoever got a slot goes to the end.
  const lanes = new Map<string, Lane<Job>>()
  let running = 0

  const forget = (id: string, lane: Lane<Job>) => {
    if (lane.running === 0 && lane.queue.length === 0) lanes.delete(id)
  }

  const sumOfDoubtful = (of: (lane: Lane<Job>) => number) => {
    let sum = 0
    for (const [id, lane] of lanes) if (isDoubtful(id)) sum += of(lane)
    return sum
  }
  const roomForDoubtful = () =>
    Math.max(0, heldOfDoubtfulMax - sumOfDoubtful(({ running: busy, queue }) => busy + queue.length))
  const heldPerDoubtfulMax = slotsPerDoubtful * PREFETCH_FACTOR
  // As much as is left for the next one, at the most.
  const heldPerDoubtful = () => Math.min(heldPerDoubtfulMax, roomForDoubtful())
  const runnableOf = (lane: Lane<Job>) =>
    Math.min(lane.queue.length, Math.max(0, slotsPerLane - lane.running))

  return {
    add(job) {
      const lane = lanes.get(job.subscriptionId) ?? { running: 0, queue: [] }
      lane.queue.push(job)
      lanes.set(job.subscriptionId, lane)
    },
    next(may = { doubtful: true }) {
      if (running >= concurrency) return undefined
      const free = concurrency - running
      // Added up when somebody asks: with a slot for each of hundreds of subscriptions it took as long as the signature.
      let freeForDoubtful: number | undefined
      for (const [id, lane] of lanes) {
        if (lane.queue.length === 0) continue
        // Never more than are still free: however many endpoints are slow, something is left for the next one.
        let most = Math.min(slotsPerLane, free)
        if (isDoubtful(id)) {
          if (!may.doubtful) continue
          freeForDoubtful ??= slotsOfDoubtful - sumOfDoubtful(({ running: busy }) => busy)
          if (freeForDoubtful <= 0) continue
          most = Math.min(slotsPerDoubtful, freeForDoubtful, free)
        }
        if (lane.running >= Math.max(1, most)) continue
        const job = lane.queue.shift()
        lane.running += 1
        running += 1
        lanes.delete(id)
        lanes.set(id, lane)
        return job
      }
      return undefined
    },
    done(subscriptionId) {
      const lane = lanes.get(subscriptionId)
      if (!lane) return
      lane.running -= 1
      running -= 1
      forget(subscriptionId, lane)
    },
    room() {
      let held = running
      for (const lane of lanes.values()) held += runnableOf(lane)
      const ofDoubtful = sumOfDoubtful((lane) => lane.running + runnableOf(lane))
      return Math.max(0, heldMax - held + Math.max(0, ofDoubtful - heldOfDoubtfulMax))
    },
    roomFor(subscriptionId) {
      if (!isDoubtful(subscriptionId)) return Number.POSITIVE_INFINITY
      const { running: busy = 0, queue = [] } = lanes.get(subscriptionId) ?? {}
      const held = busy + queue.length
      // Each one that is added takes from its own room, and from what is left for the others.
      const shared = Math.ceil((roomForDoubtful() - held) / 2)
      return Math.max(0, Math.min(heldPerDoubtfulMax - held, shared))
    },
    roomForDoubtful,
    doubtful: () => [...lanes.keys()].filter(isDoubtful),
    full() {
      const full: string[] = []
      const heldPerDoubtfulNow = heldPerDoubtful()
      for (const [id, { running: busy, queue }] of lanes) {
        if (busy + queue.length >= (isDoubtful(id) ? heldPerDoubtfulNow : heldPerLaneMax)) full.push(id)
      }
      return full
    },
    withdraw(unwanted) {
      const withdrawn: Job[] = []
      for (const [id, lane] of lanes) {
        withdrawn.push(...lane.queue.filter(unwanted))
        lane.queue = lane.queue.filter((job) => !unwanted(job))
        forget(id, lane)
      }
      return withdrawn
    },
  }
}
