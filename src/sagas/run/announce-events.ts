import type { NewSaga, SagaChange } from '../records.js'
import type { StateStorage } from '../storage/index.js'

/** Wraps a storage to call `tell` after something was stored that has to be routed. It only saves latency. */
export function announceEvents(storage: StateStorage, tell: () => void): StateStorage {
  const stores = ({ publishes, publications, events }: SagaChange) =>
    publications !== undefined || (publishes === true && events.length > 0)
  const begins = ({ publishes, lease }: NewSaga) => publishes === true && lease?.events !== undefined
  return {
    ...storage,
    async startSaga(saga, tx) {
      const outcome = await storage.startSaga(saga, tx)
      if (outcome.created && begins(saga)) tell()
      return outcome
    },
    async startSagas(sagas) {
      const outcomes = await storage.startSagas(sagas)
      if (sagas.some((saga, place) => outcomes[place]?.created && begins(saga))) tell()
      return outcomes
    },
    async write(changes, leaseMs) {
      const outcomes = await storage.write(changes, leaseMs)
      if (changes.some((change, place) => outcomes[place]?.applied && stores(change))) tell()
      return outcomes
    },
    async transact(work, leaseMs) {
      let change: SagaChange | undefined
      const outcome = await storage.transact(async (tx) => {
        change = await work(tx)
        return change
      }, leaseMs)
      if (outcome.outcome === 'committed' && change && stores(change)) tell()
      return outcome
    },
  }
}
