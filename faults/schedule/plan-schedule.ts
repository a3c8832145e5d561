import { createDraw, type Draw } from './create-draw.js'
import {
  type Fault,
  type FaultKind,
  faultKinds,
  otherKinds,
  PROCESSES_OF_EACH_PART,
  PUBLISHER,
  parts,
  processKinds,
  receiverModes,
  receiverNames,
  serverKinds,
} from './fault.js'
import { type MarkName, markNames, marks, promises } from './marks.js'

/** Faults begin within this time, while events are published. */
export const LOAD_MS = 9_000
const FIRST_FAULT_MS = 500
const LAST_FAULT_MS = LOAD_MS - 1_000

/** SAGAPOST_LEASE_DURATION of every process: as short as the configuration allows beside REQUEST_TIMEOUT_MS. */
export const LEASE_MS = 6_000
export const REQUEST_TIMEOUT_MS = 1_000

const SKEW_MS_MAX = 4 * 60_000
const SERVER_FAULTS_MAX = 2
/** A full disk needs its data on a file system of its own: every third block of seeds has it. */
const SEEDS_PER_BLOCK = 10
const BLOCKS_PER_TURN = 3

export interface Schedule {
  seed: number
  /** What the data directory lies on. */
  disk: 'disk' | 'tmpfs'
  faults: readonly Fault[]
}

/** The same seed gives the same schedule: nothing but the seed is drawn from. */
export function planSchedule(seed: number, only: readonly FaultKind[] = faultKinds): Schedule {
  const draw = createDraw(seed)
  const turn = Math.floor(seed / SEEDS_PER_BLOCK) % BLOCKS_PER_TURN
  const disk =
    turn === BLOCKS_PER_TURN - 1 || (only.length === 1 && only[0] === 'fill-disk') ? 'tmpfs' : 'disk'
  const among = <Kind extends FaultKind>(kinds: readonly Kind[]) =>
    kinds.filter((kind) => only.includes(kind))
  const faults: Fault[] = []

  const ofProcesses = among(processKinds)
  const times = ofProcesses.length > 0 ? draw.between(2, 5) : 0
  for (let n = 0; n < times; n++) faults.push(ofProcess(draw, draw.pick(ofProcesses)))
  const others = among(otherKinds)
  const beside = others.length > 0 ? draw.between(only.length < faultKinds.length ? 1 : 0, 2) : 0
  for (let n = 0; n < beside; n++) faults.push(ofOthers(draw, draw.pick(others)))
  faults.push(...ofServer(draw, among(serverKinds), disk))
  return { seed, disk, faults: faults.toSorted((a, b) => a.atMs - b.atMs) }
}

function ofProcess(draw: Draw, kind: (typeof processKinds)[number]): Fault {
  const atMs = draw.between(FIRST_FAULT_MS, LAST_FAULT_MS)
  const process = `${draw.pick(parts)}-${draw.between(1, PROCESSES_OF_EACH_PART)}`
  // The publisher has connections that can be disturbed, but no process of its own.
  const target = draw.chance(0.1) ? PUBLISHER : process
  switch (kind) {
    case 'kill':
      return { kind, atMs, lengthMs: draw.between(0, 3_000), target: process }
    case 'kill-at-mark':
    case 'cut-at-mark': {
      const mark = draw.pick(
        kind === 'cut-at-mark' ? markNames : markNames.filter((name) => marks[name].of !== PUBLISHER),
      )
      const { of } = marks[mark]
      return {
        kind,
        atMs,
        lengthMs: draw.between(0, 3_000),
        target: targetOf(draw, mark),
        mark,
        moment: draw.pick(['before', 'after']),
        count: draw.between(1, of === 'sagas' ? 2 : 8),
      }
    }
    case 'pause':
      return { kind, atMs, lengthMs: draw.between(200, Math.round(LEASE_MS * 1.4)), target: process }
    case 'skew-clock':
      return {
        kind,
        atMs,
        lengthMs: draw.between(1_000, 8_000),
        target: process,
        skewMs: draw.between(-SKEW_MS_MAX, SKEW_MS_MAX),
      }
    case 'cut':
      return { kind, atMs, lengthMs: 0, target }
    case 'delay':
      return { kind, atMs, lengthMs: draw.between(1_000, 5_000), target, delayMs: draw.between(5, 300) }
    case 'drip':
      return { kind, atMs, lengthMs: draw.between(1_000, 4_000), target }
    case 'black-hole':
      return { kind, atMs, lengthMs: draw.between(1_000, 9_000), target, half: draw.chance(0.5) }
  }
}

function ofOthers(draw: Draw, kind: (typeof otherKinds)[number]): Fault {
  const timed = { atMs: draw.between(FIRST_FAULT_MS, LAST_FAULT_MS), lengthMs: draw.between(1_000, 8_000) }
  return kind === 'long-transaction'
    ? { kind, ...timed, commits: draw.chance(0.5) }
    : { kind, ...timed, receiver: draw.pick(receiverNames), mode: draw.pick(receiverModes) }
}

/** One after the other: a server that is away cannot fail in another way. */
function ofServer(
  draw: Draw,
  kinds: readonly (typeof serverKinds)[number][],
  disk: Schedule['disk'],
): Fault[] {
  const possible = kinds.filter((kind) => kind !== 'fill-disk' || disk === 'tmpfs')
  if (possible.length === 0) return []
  const count = draw.between(possible.length < serverKinds.length - 1 ? 1 : 0, SERVER_FAULTS_MAX)
  const slotMs = (LAST_FAULT_MS - FIRST_FAULT_MS) / Math.max(1, count)
  return Array.from({ length: count }, (_, n) => {
    const kind =
      disk === 'tmpfs' && n === 0 && possible.includes('fill-disk') ? 'fill-disk' : draw.pick(possible)
    const atMs = Math.round(FIRST_FAULT_MS + slotMs * n + draw.between(0, Math.round(slotMs / 2)))
    const lengthMs = draw.between(0, kind === 'crash-postgres' ? 4_000 : 2_500)
    if (kind !== 'crash-at-mark') return { kind, atMs, lengthMs }
    const mark = draw.pick(promises)
    return { kind, atMs, lengthMs, target: targetOf(draw, mark), mark, count: draw.between(1, 4) }
  })
}

function targetOf(draw: Draw, mark: MarkName): string {
  const { of } = marks[mark]
  return of === PUBLISHER ? of : `${of}-${draw.between(1, PROCESSES_OF_EACH_PART)}`
}
