import type pg from 'pg'
import { keepPartitionsAhead } from '../database/index.js'
import { expireEventKeys } from '../delivery/index.js'
import { startLoop } from '../loop/index.js'
import { expireMinutes, startRegistration } from '../observability/index.js'
import { openRoutes } from '../subscriptions/index.js'
import type { PartContext } from './part-context.js'

const EXPIRE_KEYS_MS = 10 * 60_000
const EXPIRE_MINUTES_MS = 10 * 60_000
/** Changes through the API are noted at once; this is for changes in SQL and after a crash. */
const OPEN_ROUTES_MS = 30_000

interface UpkeepOptions {
  /** Under the role schema_maintainer. */
  maintainer: pg.Pool
  /** For the list of processes. */
  parts: readonly string[]
  sagaDefinitions: readonly string[]
}

/** What every process does, whatever its parts: partitions ahead, what expires, and its row in the list of processes. */
export function startUpkeep(
  { config, wakeups, stops, processId, onError }: PartContext,
  { maintainer, parts, sagaDefinitions }: UpkeepOptions,
): void {
  const partitions = keepPartitionsAhead({
    pool: maintainer,
    onError: onError('partitions', 'making partitions'),
  })
  const forgetPartitions = wakeups.onWake('partitions', partitions.wake)
  stops.add('work', 'partitions', () => {
    forgetPartitions()
    return partitions.stop()
  })
  const routes = startLoop({
    round: async () => {
      await openRoutes(maintainer)
      return false
    },
    idleMs: OPEN_ROUTES_MS,
    onError: onError('routes', 'noting new routes'),
  })
  stops.add('work', 'routes', () => routes.stop())
  const keys = startLoop({
    round: () => expireEventKeys(maintainer, config.deduplicationWindowMs),
    idleMs: EXPIRE_KEYS_MS,
    onError: onError('event_keys', 'forgetting old keys'),
  })
  stops.add('work', 'event keys', () => keys.stop())
  const minutes = startLoop({
    round: () => expireMinutes(maintainer),
    idleMs: EXPIRE_MINUTES_MS,
    onError: onError('statistics', 'forgetting old counts'),
  })
  stops.add('work', 'statistics', () => minutes.stop())
  const registration = startRegistration({
    pool: maintainer,
    id: processId,
    parts,
    sagaDefinitions,
    onError: onError('processes', 'saying that this process runs'),
  })
  stops.add('records', 'registration', () => registration.stop())
}
