import type { Standing } from '../breakers/index.js'

/** Jobs claimed ahead per slot, so that a free slot finds its next job in memory. */
const PREFETCH_FACTOR = 2
/** The share of all slots that one subscription may hold, so that a dead endpoint leaves the rest to others. */
const SUBSCRIPTION_SHARE = 0.5
/** Doubtful subscriptions have their own slots: this many per regular slot, up to DOUBTFUL_SLOTS_MAX. */
const DOUBTFUL_FACTOR = 10
const DOUBTFUL_SLOTS_MAX = 500
/** The share of these slots for failing subscriptions; the rest is kept for untried ones. */
const FAILING_SHARE = 0.6
/** Untried subscriptions answer faster than they are claimed, so this many jobs are held per free slot. */
const UNTRIED_PREFETCH_FACTOR = 4
/** A lane without an answer for this long gives its slots to other lanes, and starts nothing until it has one. */
const OVERDUE_MS = 2_000

type MayBegin = Record<Exclude<Standing, 'answering'>, boolean>

interface Lane<Job> {
  running: number
  /** The running jobs that take no slot of answering subscriptions. */
  aside: number
  queue: Job[]
  /** Since when the lane has had requests in flight without an answer. */
  silentSinceMs: number
  overdue: boolean
}

/**
 * The jobs that a worker holds, one lane per subscription, with bounded slots overall and per lane. A slow endpoint
 * fills only its own lane; a doubtful one has one request at a time, in slots reserved for doubtful subscriptions.
 */
export interface Lanes<Job> {
  /** Puts the jobs into their lanes; returns those not worth holding. */
  take(jobs: readonly Job[]): Job[]
  /**
   * The next job that may start now; for a doubtful subscription, only if `may` allows its kind. It holds a slot until
   * `done`.
   */
  next(may?: MayBegin): Job | undefined
  done(subscriptionId: string): void
  /** How many more jobs are worth claiming. */
  room(): number
  /** Subscriptions whose lanes are full: claim no jobs for them. */
  full(): string[]
  /** Whether the lane of an answering subscription is full, so that more of its jobs are likely to wait. */
  isBusy(): boolean
  /** Whether another job of this doubtful subscription would be held. */
  hasRoomFor(subscriptionId: string): boolean
  /** How many more jobs of doubtful subscriptions are worth holding. */
  roomForDoubtful(): Record<Exclude<Standing, 'answering'>, number>
  /** How many slots of answering subscriptions are in use. */
  busy(): number
  /** Sets lanes aside that have waited too long for an answer; true when this freed a slot. */
  setAsideSilent(nowMs: number): boolean
  /** Removes the queued jobs that `unwanted` selects, and returns them. */
  withdraw(unwanted: (job: Job) => boolean): Job[]
}

export function createLanes<Job extends { subscriptionId: string }>(
  concurrency: number,
  standingOf: (subscriptionId: string) => Standing = () => 'answering',
): Lanes<Job> {
  const slotsPerLane = Math.max(1, Math.ceil(concurrency * SUBSCRIPTION_SHARE))
  const heldPerLaneMax = Math.ceil(slotsPerLane * PREFETCH_FACTOR)
  const heldMax = Math.ceil(concurrency * PREFETCH_FACTOR)
  const slotsAside = Math.min(concurrency * DOUBTFUL_FACTOR, Math.max(concurrency, DOUBTFUL_SLOTS_MAX))
  const slotsOfFailing = Math.floor(slotsAside * FAILING_SHARE)
  // Ordered by turn: a lane that got a slot moves to the end.
  const lanes = new Map<string, Lane<Job>>()
  let running = 0
  let aside = 0

  const forget = (id: string, lane: Lane<Job>) => {
    if (lane.running === 0 && lane.queue.length === 0) lanes.delete(id)
  }
  // However many lanes are silent, no more than their reserved slots run beside the others.
  const busy = () => running - Math.min(aside, slotsAside)
  const slotsOf = (standing: Standing) => (standing === 'failing' ? slotsOfFailing : slotsAside)
  const roomForDoubtful = () => {
    const queued = { answering: 0, untried: 0, failing: 0 }
    for (const [id, { queue }] of lanes) if (queue.length > 0) queued[standingOf(id)] += queue.length
    const forUntried = Math.min(slotsAside, (slotsAside - aside) * UNTRIED_PREFETCH_FACTOR)
    return {
      failing: Math.max(0, slotsOfFailing - aside - queued.failing),
      untried: Math.max(0, forUntried - queued.untried),
    }
  }

  /** Whether a job of this lane may start, and whether it counts as set aside; undefined when it may not. */
  function slotFor(id: string, lane: Lane<Job>, may: MayBegin): { aside: number } | undefined {
    if (lane.queue.length === 0 || lane.overdue) return undefined
    const standing = standingOf(id)
    if (standing !== 'answering') {
      return may[standing] && lane.running === 0 && aside < slotsOf(standing) ? { aside: 1 } : undefined
    }
    const free = concurrency - busy()
    // Never more than the slots still free, so that many slow endpoints leave room for the next one.
    return free > 0 && lane.running < Math.max(1, Math.min(slotsPerLane, free)) ? { aside: 0 } : undefined
  }

  return {
    take(jobs) {
      const refused: Job[] = []
      // Computed only for a doubtful subscription: with hundreds of lanes it takes as long as a signature.
      let room: ReturnType<typeof roomForDoubtful> | undefined
      for (const job of jobs) {
        const id = job.subscriptionId
        const lane = lanes.get(id) ?? { running: 0, aside: 0, queue: [], silentSinceMs: 0, overdue: false }
        const standing = standingOf(id)
        if (standing !== 'answering') {
          room ??= roomForDoubtful()
          if (lane.running + lane.queue.length > 0 || room[standing] === 0) {
            refused.push(job)
            continue
          }
          room[standing] -= 1
        }
        lane.queue.push(job)
        lanes.set(id, lane)
      }
      return refused
    },
    next(may = { untried: true, failing: true }) {
      for (const [id, lane] of lanes) {
        const slot = slotFor(id, lane, may)
        if (!slot) continue
        if (lane.running === 0) lane.silentSinceMs = performance.now()
        lane.running += 1
        running += 1
        lane.aside += slot.aside
        aside += slot.aside
        lanes.delete(id)
        lanes.set(id, lane)
        return lane.queue.shift()
      }
      return undefined
    },
    done(subscriptionId) {
      const lane = lanes.get(subscriptionId)
      if (!lane) return
      lane.running -= 1
      running -= 1
      if (lane.aside > 0) {
        lane.aside -= 1
        aside -= 1
      }
      lane.silentSinceMs = performance.now()
      lane.overdue = false
      forget(subscriptionId, lane)
    },
    room() {
      let held = busy()
      for (const [id, lane] of lanes) {
        if (lane.queue.length === 0 || lane.overdue || standingOf(id) !== 'answering') continue
        held += Math.min(lane.queue.length, Math.max(0, slotsPerLane - lane.running))
      }
      return Math.max(0, heldMax - held)
    },
    hasRoomFor(subscriptionId) {
      return !lanes.has(subscriptionId)
    },
    roomForDoubtful,
    busy,
    isBusy() {
      for (const [id, { running: under, queue, overdue }] of lanes) {
        if (!overdue && under + queue.length >= heldPerLaneMax && standingOf(id) === 'answering') return true
      }
      return false
    },
    full() {
      const full: string[] = []
      for (const [id, { running: under, queue, overdue }] of lanes) {
        if (overdue || under + queue.length >= heldPerLaneMax || standingOf(id) !== 'answering') full.push(id)
      }
      return full
    },
    setAsideSilent(nowMs) {
      let freed = false
      for (const lane of lanes.values()) {
        if (lane.overdue || lane.running === 0 || nowMs - lane.silentSinceMs < OVERDUE_MS) continue
        lane.overdue = true
        freed ||= lane.aside < lane.running
        aside += lane.running - lane.aside
        lane.aside = lane.running
      }
      return freed
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
