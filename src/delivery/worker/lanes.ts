import type { Standing } from '../breakers/index.js'

/** Claimed ahead, so that a free slot finds its next job in memory. */
const PREFETCH_FACTOR = 2
/** Of all slots, the share that one subscription may hold: a dead endpoint leaves the rest to the others. */
const SUBSCRIPTION_SHARE = 0.5
/** Doubtful subscriptions have slots of their own, for each slot of the others so many, up to this number. */
const DOUBTFUL_FACTOR = 10
const DOUBTFUL_SLOTS_MAX = 500
/** Of these, the share for those that are known to fail: the rest is kept for those that nobody has tried. */
const FAILING_SHARE = 0.6
/** Those that nobody has tried answer sooner than they are claimed: for each free slot so many are held. */
const UNTRIED_PREFETCH_FACTOR = 4
/** A lane that has had no answer for so long gives its slots to the others, and begins nothing until it has one. */
const OVERDUE_MS = 2_000

type MayBegin = Record<Exclude<Standing, 'answering'>, boolean>

interface Lane<Job> {
  running: number
  /** Those of them that take no slot of the answering ones. */
  aside: number
  queue: Job[]
  /** Since when it has had requests under way and no answer. */
  silentSinceMs: number
  overdue: boolean
}

/**
 * The jobs that a worker holds, a lane per subscription, with bounded slots in all and per lane. A slow endpoint fills
 * its own lane and nothing else; one that is doubtful has one request at a time, in slots that no other needs.
 */
export interface Lanes<Job> {
  /** Puts the jobs into their lanes; those that are not worth holding come back. */
  take(jobs: readonly Job[]): Job[]
  /** The next job that may begin now, of a doubtful subscription only if its kind may; it holds a slot until `done`. */
  next(may?: MayBegin): Job | undefined
  done(subscriptionId: string): void
  /** How many more jobs are worth claiming. */
  room(): number
  /** Lanes that hold as many jobs as they should: claim none for them. */
  full(): string[]
  /** Whether one that answers has as many as it should: it is likely that more wait. */
  isBusy(): boolean
  /** Whether another job of this doubtful subscription would be held. */
  hasRoomFor(subscriptionId: string): boolean
  /** How many more jobs of doubtful subscriptions are worth holding. */
  roomForDoubtful(): Record<Exclude<Standing, 'answering'>, number>
  /** How many slots of the answering ones are taken. */
  busy(): number
  /** Sets lanes aside that have waited too long for an answer; true when that has freed a slot. */
  setAsideSilent(nowMs: number): boolean
  /** Takes queued jobs out again, those that `unwanted` picks. */
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
  // In the order of their turns: one that got a slot goes to the end.
  const lanes = new Map<string, Lane<Job>>()
  let running = 0
  let aside = 0

  const forget = (id: string, lane: Lane<Job>) => {
    if (lane.running === 0 && lane.queue.length === 0) lanes.delete(id)
  }
  // However many are silent, no more than their slots are under way beside the others.
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

  /** Whether a job of this lane may begin, and whether it is to be set aside; undefined: it may not. */
  function slotFor(id: string, lane: Lane<Job>, may: MayBegin): { aside: number } | undefined {
    if (lane.queue.length === 0 || lane.overdue) return undefined
    const standing = standingOf(id)
    if (standing !== 'answering') {
      return may[standing] && lane.running === 0 && aside < slotsOf(standing) ? { aside: 1 } : undefined
    }
    const free = concurrency - busy()
    // Never more than are still free: however many endpoints are slow, something is left for the next one.
    return free > 0 && lane.running < Math.max(1, Math.min(slotsPerLane, free)) ? { aside: 0 } : undefined
  }

  return {
    take(jobs) {
      const refused: Job[] = []
      // Added up when a doubtful one comes: with hundreds of lanes it takes as long as a signature.
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
