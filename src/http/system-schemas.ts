import { z } from 'zod'
import type { StatisticsRange } from '../observability/index.js'
import { id, idToFind, time } from './schemas.js'

const count = z.number().int()
const milliseconds = z.number().nullable().describe('null: no attempts')

export const statisticsFilter = z.strictObject({
  range: z.enum(['hour', 'day'] satisfies StatisticsRange[]).default('hour'),
  subscriptionId: idToFind.optional().describe('absent: of all'),
})

export const statisticsPoint = z
  .object({
    at: time.describe('its beginning'),
    events: count.nullable().describe('events routed; null for a single subscription'),
    succeeded: count.describe('attempts'),
    failed: count.describe('attempts'),
    deadLettered: count.describe('deliveries'),
    p50Ms: milliseconds,
    p95Ms: milliseconds,
    p99Ms: milliseconds,
  })
  .meta({ id: 'StatisticsPoint' })

/** At most one page of subscriptions. */
const HEALTH_IDS_MAX = 200

export const healthFilter = z.strictObject({
  ids: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(idToFind).min(1).max(HEALTH_IDS_MAX))
    .meta({ examples: ['1,2,3'] })
    .describe(`comma-separated subscription ids, at most ${HEALTH_IDS_MAX}`),
})

export const endpointHealth = z
  .object({
    subscriptionId: id,
    succeeded: count,
    failed: count,
    deadLettered: count,
    p50Ms: milliseconds,
    p95Ms: milliseconds,
    lastErrorCode: z.string().nullable(),
    lastErrorAt: time.nullable().describe('to the minute'),
  })
  .meta({ id: 'EndpointHealth' })

const runningProcess = z
  .object({
    id: z.string(),
    hostname: z.string(),
    pid: count,
    version: z.string(),
    parts: z.array(z.string()),
    startedAt: time.nullable(),
    seenAt: time.nullable().describe('null: the process was removed but still holds a lease'),
    lost: z.boolean().describe('has not reported for 30 seconds'),
    leases: count.describe('jobs leased by its worker'),
    leasesExpired: count,
    leaseUntil: time.nullable().describe('when the first lease expires'),
  })
  .meta({ id: 'RunningProcess' })

export const systemDescription = z
  .object({
    schemaVersion: count,
    serverVersion: z.string(),
    databaseBytes: z.number(),
    connections: count,
    connectionsMax: count,
    processes: z.array(runningProcess),
    tables: z.array(
      z.object({
        name: z.string(),
        tableBytes: z.number(),
        indexBytes: z.number(),
        rowsEstimated: z.number().nullable(),
        partitions: count,
      }),
    ),
    indexes: z.array(z.object({ name: z.string(), table: z.string(), bytes: z.number(), scans: z.number() })),
    slowStatements: z
      .array(z.object({ query: z.string(), calls: z.number(), meanMs: z.number(), totalMs: z.number() }))
      .nullable()
      .describe('null: the extension pg_stat_statements is not installed'),
  })
  .meta({ id: 'System' })
