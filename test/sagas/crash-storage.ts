import type { StateStorage } from '../../src/sagas/index.js'

/** At which of its writes a process dies: before the statement, or after its commit and before the answer. */
export interface Crash {
  afterWrites: number
  committed: boolean
}

/** What the storage of a dead process answers. */
export class Crashed extends Error {}

interface Wrapped {
  /** Around a call; `work` makes it. */
  around<T>(isWrite: boolean, work: () => Promise<T>): Promise<T>
}

/** The same storage, with something around every call. */
function wrapStorage(storage: StateStorage, { around }: Wrapped): StateStorage {
  const wrapped = { ...storage }
  for (const name of Object.keys(storage) as (keyof StateStorage)[]) {
    const isWrite = name === 'write' || name === 'transact'
    const call = storage[name] as (...args: unknown[]) => Promise<unknown>
    wrapped[name] = (async (...args: unknown[]) => around(isWrite, () => call(...args))) as never
  }
  return wrapped
}

/** A promise, and what resolves it. */
function makeGate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/**
 * The storage of a process that dies at its nth write; from then on it does nothing any more, for ever. Without a crash it
 * lives, and its writes are told all the same.
 */
export function dieAt(
  storage: StateStorage,
  crash: Crash | null,
  onWrite: () => void = () => {},
): { mortal: StateStorage; death: Promise<void> } {
  const { opened: death, open: tell } = makeGate()
  let writes = 0
  let dead = false
  const die = (): never => {
    dead = true
    tell()
    throw new Crashed('this process is dead')
  }
  const mortal = wrapStorage(storage, {
    async around(isWrite, work) {
      if (dead) die()
      const last = isWrite && writes++ === crash?.afterWrites
      if (last && !crash.committed) die()
      const answer = await work()
      if (last || dead) die()
      if (isWrite) onWrite()
      return answer
    },
  })
  return { mortal, death }
}

/** The storage of a process that pauses before its nth write, and continues when released. */
export function pauseAt(
  storage: StateStorage,
  afterWrites: number,
): { paused: Promise<void>; pausable: StateStorage; resume: () => void } {
  const pause = makeGate()
  const end = makeGate()
  let writes = 0
  let underWay = 0
  let isPaused = false
  const noteCalm = () => {
    // What was asked for before still reaches the database, and may begin a lease anew.
    if (isPaused && underWay === 0) pause.open()
  }
  const pausable = wrapStorage(storage, {
    async around(isWrite, work) {
      if (isWrite && writes++ === afterWrites) isPaused = true
      noteCalm()
      if (isPaused) await end.opened
      underWay++
      try {
        return await work()
      } finally {
        underWay--
        noteCalm()
      }
    },
  })
  return { paused: pause.opened, pausable, resume: end.open }
}
