import type pg from 'pg'
import {
  checkReadiness,
  checkWrites,
  databaseRoles,
  explainObstacle,
  type Migration,
  type Obstacle,
} from '../database/index.js'
import { countWaiting } from '../dead-letters/index.js'
import { createBacklogCollector } from '../observability/index.js'
import { examineDurability } from './examine-durability.js'
import { examineRouting } from './examine-routing.js'
import { readFirstEventId, readThrough } from './read-snapshot.js'

/** What an operator is told: all is well, look at this, or this does not work. */
export interface Finding {
  check: 'database' | 'writes' | 'durability' | 'roles' | 'routing' | 'backlog' | 'breakers' | 'dead_letters'
  severity: 'ok' | 'attention' | 'failing'
  detail: string
}

/** What waits longer than this at a stage is not being worked on. */
const WAITING_S_MAX = 60
const DEAD_LETTERS_EXAMINED_MAX = 10_000
const DAY_S = 86_400
const BACKLOG_MS_MAX = 30_000
/** Stages that nothing leaves by itself. */
const forOperator: ReadonlySet<string> = new Set(['set_aside', 'sagas_stuck'])

/** Who works on a stage, and what to do where that is a person. */
const remedies: Record<string, string> = {
  routing: 'is a router running?',
  set_aside: 'sagapost events set-aside shows why, sagapost events requeue tries again',
  first_jobs: 'is an orchestrator running?',
  retries_due: 'is an orchestrator running?',
  claims: 'is a worker running?',
  leases_expired: 'is a cleaner running?',
  results: 'is an orchestrator running?',
  sagas_due: 'is a process with the part sagas running?',
  sagas_stuck: 'sagapost sagas list --stuck shows them, sagapost sagas resolve mends them',
}

// Of the login, whatever role the connection runs under.
const selectMissingRoles = `
  SELECT array_agg(wanted.name ORDER BY wanted.name) AS missing, session_user AS login
  FROM unnest($1::text[]) AS wanted (name)
  LEFT JOIN pg_catalog.pg_roles AS role ON role.rolname = wanted.name
  WHERE role.oid IS NULL OR NOT pg_catalog.pg_has_role(session_user, role.oid,
    CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`

// By subscription_breakers_pkey: one row for each endpoint in trouble.
const countPaused = `
  SELECT count(*)::int AS paused FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()`

/** What is in the way of writes alone: the rest can be looked at. */
const WRITES_ONLY: readonly string[] = ['database_read_only']

/**
 * Looks at a live system as an operator would who was just woken up. Under saga_readonly_role, reading indexes only;
 * `writes` is under schema_maintainer, with a short time-out, and commits one empty transaction.
 */
export async function examineSystem(
  pool: pg.Pool,
  migrations: readonly Migration[],
  writes: pg.Pool,
): Promise<Finding[]> {
  const obstacles = await checkReadiness(pool, migrations)
  const grave = obstacles.filter(({ code }) => !WRITES_ONLY.includes(code))
  if (grave.length > 0) return grave.map((obstacle) => failing('database', obstacle))
  const { rows } = await pool.query<{ server: string }>(`SELECT current_setting('server_version') AS server`)
  return [
    {
      check: 'database',
      severity: 'ok',
      detail: `PostgreSQL ${rows[0]?.server}, schema version ${migrations.length}`,
    },
    ...(await examineWrites(writes, obstacles)),
    ...(await examineDurability(pool)),
    await examineRoles(pool),
    ...(await examineRouting(pool, await readFirstEventId(readThrough(pool)))),
    ...(await examineBacklog(pool)),
    await examineBreakers(pool),
    await examineDeadLetters(pool),
  ]
}

function failing(check: Finding['check'], obstacle: Obstacle): Finding {
  return { check, severity: 'failing', detail: `${explainObstacle(obstacle)} [${obstacle.code}]` }
}

async function examineWrites(pool: pg.Pool, known: readonly Obstacle[]): Promise<Finding[]> {
  const obstacles = known.length > 0 ? known : await checkWrites(pool)
  if (obstacles === null) {
    return [
      {
        check: 'writes',
        severity: 'attention',
        detail: 'the login lacks the right to test a write; see roles',
      },
    ]
  }
  return obstacles.length > 0
    ? obstacles.map((obstacle) => failing('writes', obstacle))
    : [{ check: 'writes', severity: 'ok', detail: 'a transaction was committed, and the disk has room' }]
}

async function examineRoles(pool: pg.Pool): Promise<Finding> {
  const { rows } = await pool.query<{ missing: string[] | null; login: string }>(selectMissingRoles, [
    databaseRoles,
  ])
  const { missing = null, login } = rows[0] ?? {}
  return missing === null
    ? {
        check: 'roles',
        severity: 'ok',
        detail: `the login may work as each of ${databaseRoles.length} roles`,
      }
    : { check: 'roles', severity: 'attention', detail: `${login} may not work as ${missing.join(', ')}` }
}

async function examineBacklog(pool: pg.Pool): Promise<Finding[]> {
  const stages = await createBacklogCollector(pool, { timeLimitMs: BACKLOG_MS_MAX }).collect()
  if (stages === null) {
    return [{ check: 'backlog', severity: 'failing', detail: 'the database did not answer in time' }]
  }
  const late = stages.filter(
    ({ stage, count, oldestAgeS }) =>
      count > 0 && (forOperator.has(stage) || (oldestAgeS ?? 0) > WAITING_S_MAX),
  )
  if (late.length === 0) {
    const waiting = stages.filter(({ count }) => count > 0).map(({ stage, count }) => `${count} ${stage}`)
    return [
      {
        check: 'backlog',
        severity: 'ok',
        detail: waiting.length > 0 ? `on its way: ${waiting.join(', ')}` : 'nothing waits',
      },
    ]
  }
  return late.map(({ stage, count, oldestAgeS }) => ({
    check: 'backlog',
    severity: stage === 'sagas_stuck' ? 'attention' : 'failing',
    detail: `${stage}: ${count}, the oldest for ${Math.round(oldestAgeS ?? 0)} s; ${remedies[stage] ?? ''}`,
  }))
}

async function examineBreakers(pool: pg.Pool): Promise<Finding> {
  const { rows } = await pool.query<{ paused: number }>(countPaused)
  const paused = rows[0]?.paused ?? 0
  return paused === 0
    ? { check: 'breakers', severity: 'ok', detail: 'no endpoint is paused' }
    : {
        check: 'breakers',
        severity: 'attention',
        detail: `${paused} endpoints keep failing and are paused; sagapost subscriptions list --failing shows them`,
      }
}

async function examineDeadLetters(pool: pg.Pool): Promise<Finding> {
  const { waiting, more } = await countWaiting(pool, {
    withinS: DAY_S,
    examinedMax: DEAD_LETTERS_EXAMINED_MAX,
  })
  return waiting === 0
    ? { check: 'dead_letters', severity: 'ok', detail: 'none of the last day left to requeue' }
    : {
        check: 'dead_letters',
        severity: 'attention',
        detail: `${waiting}${more ? ' or more' : ''} of the last day not requeued; sagapost dead-letters list shows them`,
      }
}
