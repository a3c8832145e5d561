import type { SagaChange, StateStorage, WriteOutcome } from '../sagas/index.js'

export interface Interruptions {
  /** The process dies before or after this write, counted from 1 over the whole run. */
  readonly crashes: { before?: number; after?: number }[]
  /** The saga is cancelled right after these writes. */
  readonly cancels: number[]
}

/** One life of a coordinator's process: it writes until it dies, and work that it had begun is never reported. */
export interface Process {
  readonly died: Promise<'died'>
  write(change: SagaChange): Promise<WriteOutcome>
  transact: StateStorage['transact']
  findSignals: StateStorage['findSignals']
  findDeliveries: StateStorage['findDeliveries']
  getSaga: StateStorage['getSaga']
  requestCancel: StateStorage['requestCancel']
}

const forever = new Promise<never>(() => {})

export function startProcess(
  storage: StateStorage,
  leaseMs: number,
  count: { writes: number; readonly sagaId: string },
  { crashes, cancels }: Interruptions,
): Process {
  let dead = false
  let die = (_: 'died') => {}
  const died = new Promise<'died'>((resolve) => {
    die = resolve
  })
  const end = (): Promise<never> => {
    dead = true
    die('died')
    return forever
  }
  /** Each crash happens once. */
  const crashesAt = (when: 'before' | 'after', write: number): boolean => {
    const place = crashes.findIndex((crash) => crash[when] === write)
    if (place >= 0) crashes.splice(place, 1)
    return place >= 0
  }

  const before = (): number | Promise<never> => {
    if (dead) return forever
    const write = ++count.writes
    return crashesAt('before', write) ? end() : write
  }
  const after = async <T>(write: number, outcome: T): Promise<T> => {
    if (cancels.includes(write)) {
      await storage.requestCancel(count.sagaId, { by: 'test', reason: `cancelled after write ${write}` })
    }
    return crashesAt('after', write) ? end() : outcome
  }

  const unlessDead = <T>(work: () => Promise<T>): Promise<T> => (dead ? forever : work())

  return {
    died,
    findSignals: (wanted) => unlessDead(() => storage.findSignals(wanted)),
    findDeliveries: (steps) => unlessDead(() => storage.findDeliveries(steps)),
    getSaga: (id) => unlessDead(() => storage.getSaga(id)),
    requestCancel: (id, request) => unlessDead(() => storage.requestCancel(id, request)),
    async write(change) {
      const write = await before()
      const [outcome] = await storage.write([change], leaseMs)
      return after(write, outcome as WriteOutcome)
    },
    async transact(work, transactLeaseMs) {
      let written: number | undefined
      const outcome = await storage.transact(async (tx) => {
        const change = await work(tx)
        // The step's code has run; `before` the write means before its COMMIT.
        written = await before()
        return change
      }, transactLeaseMs)
      return written === undefined ? outcome : after(written, outcome)
    },
  }
}
