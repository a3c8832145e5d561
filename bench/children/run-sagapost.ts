/** Sagapost in one process: the parts that are asked for, and events stored through the same process. */
import type pg from 'pg'
import type { System, SystemPart } from '../../src/runtime/start-system.js'
import { loadBuilt } from '../harness/load-built.js'
import { makeBody } from '../harness/make-body.js'
import { sagapostEnvironment } from '../harness/sagapost-environment.js'
import type { SystemOptions } from '../harness/system-options.js'
import { answerCommands } from '../harness/talk-to-parent.js'
import { timeQueries } from '../harness/time-queries.js'

const { startSystem, systemParts } = await loadBuilt.runtime()
const { readConfig } = await loadBuilt.config()
const { createLog } = await loadBuilt.observability()
const { createRolePool } = await loadBuilt.database()
const { storeEvents } = await loadBuilt.events()
const { claim } = await loadBuilt.claim()

let system: System
let ingest: pg.Pool
const claims = timeQueries(claim)

const commands = {
  start: async (
    options: SystemOptions & { only?: readonly SystemPart[]; settings?: Record<string, string> },
  ) => {
    const config = readConfig({ ...sagapostEnvironment(options), ...options.settings })
    if (!config.masterKey) throw new Error('no master key')
    ingest = createRolePool({
      databaseUrl: options.databaseUrl,
      role: 'event_ingest_writer',
      connectionsMax: 2,
    })
    system = await startSystem({
      databaseUrl: options.databaseUrl,
      config: { ...config, masterKey: config.masterKey },
      only: options.only ?? systemParts.filter((part) => part !== 'api'),
      log: createLog({ level: config.logLevel }),
      extraCertificateAuthorities: [options.authority],
    })
    return { url: system.url }
  },
  /** Round robin over the types, one commit a batch. */
  enqueue: async (count: number, batch: number, types: readonly string[]) => {
    for (let first = 0; first < count; first += batch) {
      const events = Array.from({ length: Math.min(batch, count - first) }, (_, index) => ({
        type: types[(first + index) % types.length] as string,
        payload: makeBody(first + index),
      }))
      const outcomes = await storeEvents(ingest, events)
      if (outcomes.some((outcome) => 'refusal' in outcome)) throw new Error('an event was refused')
      system.wakeups.wake('routing')
    }
  },
  /** How long each claim took since the last call, in ms. */
  takeClaimTimes: async () => claims.take(),
  stop: async () => {
    await system.stop()
    await ingest.end()
  },
}
export type SagapostCommands = typeof commands
answerCommands(commands)
