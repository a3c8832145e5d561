import type pg from 'pg'
import {
  checkReadiness,
  checkWrites,
  type DatabaseRole,
  type Migration,
  type Obstacle,
} from '../database/index.js'
import { countWaitingLetters } from '../observability/index.js'
import { examineClock } from './examine-clock.js'
import { examineDurability } from './examine-durability.js'
import { examineLocks } from './examine-locks.js'
import { examineRoles } from './examine-roles.js'
import { examineRouting } from './examine-routing.js'
import { examineSchema } from './examine-schema.js'
import { examineSecrets } from './examine-secrets.js'
import { examineSessions } from './examine-sessions.js'
import { examineVacuum } from './examine-vacuum.js'
import { examineWork } from './examine-work.js'
import { attempt, explainAsFinding } from './explain-failure.js'
import { type Finding, finding, fine } from './finding.js'
import { readFirstEventId, readThrough } from './read-snapshot.js'

const DEAD_LETTERS_EXAMINED_MAX = 10_000
const DAY_S = 86_400
/** The time limit of each query, to limit the load on a live system. */
const CHECK_MS_MAX = 15_000
/** A commit that takes longer waits for something that is not there. */
const WRITE_MS_MAX = 5_000

// By subscription_breakers_pkey: one row for each endpoint in trouble.
const countPaused = `
  SELECT count(*)::int AS paused FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()`

const selectVersion = 'SELECT max(version) AS version FROM sagapost.saga_schema_version'

/** What is in the way of writes alone: the rest can be looked at. */
const WRITES_ONLY: readonly string[] = ['database_read_only', 'partition_headroom_low']
/** What the comparison of the schema may explain: a right, or a function that the check itself needs. */
const SCHEMAS: readonly string[] = ['permission_denied', 'schema_outdated']

export interface SystemExamination {
  /** A connection under one role, for as long as the work takes. */
  as<Result>(
    role: DatabaseRole,
    work: (pool: pg.Pool) => Promise<Result>,
    queryTimeoutMs?: number,
  ): Promise<Result>
  migrations: readonly Migration[]
  /** Absent: only what shows without it is told of the secrets. */
  masterKey?: Buffer | undefined
  /** With {role} in DATABASE_URL, there is a login for each role. */
  hasLoginPerRole?: boolean
  /** The embedded database has one login, which owns it. */
  isEmbedded?: boolean
  /** Another limit for each query than 15 s, for tests. */
  checkMsMax?: number
}

/**
 * Examines a live system. One connection at a time, each query bounded in time
 * and by an index; `writes` commits one empty transaction.
 */
export async function examineSystem(examination: SystemExamination): Promise<Finding[]> {
  const { as, migrations, masterKey, checkMsMax = CHECK_MS_MAX } = examination
  return as(
    'saga_readonly_role',
    async (pool) => {
      const obstacles = await checkReadiness(pool, migrations)
      const isSlow = obstacles.some(isUnanswered) && (await answers(pool))
      const grave = obstacles.filter(
        (obstacle) => !WRITES_ONLY.includes(obstacle.code) && !(isSlow && isUnanswered(obstacle)),
      )
      if (grave.length > 0) {
        const found = grave.map((obstacle) => explainAsFinding('database', obstacle))
        // Without a cause, the schema was found to be of another release.
        const mayBeBroken = grave.every(({ code, cause }) => SCHEMAS.includes(code) && cause !== undefined)
        if (!mayBeBroken || !(await isMigrated(pool, migrations))) return found
        return [...found, ...(await attempt('schema', () => examineSchema(pool)))]
      }
      return [
        ...(await attempt('database', () => describeServer(pool, migrations))),
        ...obstacles.map((obstacle) =>
          explainAsFinding(obstacle.code === 'database_read_only' ? 'writes' : 'database', obstacle),
        ),
        ...(obstacles.some(({ code }) => code === 'database_read_only')
          ? []
          : await examineWrites(examination)),
        ...(await attempt('durability', () => examineDurability(pool))),
        ...(await attempt('roles', () => examineRoles(pool, examination))),
        ...(await attempt('schema', () => examineSchema(pool))),
        ...(await attempt('backlog', () => examineWork(pool))),
        ...(await attempt('routing', async () =>
          examineRouting(pool, await readFirstEventId(readThrough(pool))),
        )),
        ...(await attempt('secrets', () =>
          as('job_worker', (keys) => examineSecrets(keys, masterKey), checkMsMax),
        )),
        ...(await attempt('clock', () => examineClock(pool))),
        ...(await attempt('sessions', () => examineSessions(pool))),
        ...(await attempt('locks', () => examineLocks(pool))),
        ...(await attempt('vacuum', () => examineVacuum(pool))),
        ...(await attempt('breakers', () => examineBreakers(pool))),
        ...(await attempt('dead_letters', () => examineDeadLetters(pool))),
      ]
    },
    checkMsMax,
  )
}

/** What /readyz asks was not answered in its time: the server hangs, or it has much to do. */
function isUnanswered({ code, cause }: Obstacle): boolean {
  return code === 'database_unreachable' && /^no answer within/.test(cause ?? '')
}

/** The first try may still wait for the connection of what was not answered, and give up with it. */
async function answers(pool: pg.Pool): Promise<boolean> {
  const ask = () =>
    pool.query('SELECT').then(
      () => true,
      () => false,
    )
  return (await ask()) || (await ask())
}

/** As far as one may read; where a right on this table is missing, the schema is there. */
async function isMigrated(pool: pg.Pool, migrations: readonly Migration[]): Promise<boolean> {
  try {
    const { rows } = await pool.query<{ version: number }>(selectVersion)
    return rows[0]?.version === migrations.length
  } catch (error) {
    return (error as { code?: string }).code === '42501'
  }
}

async function describeServer(pool: pg.Pool, migrations: readonly Migration[]): Promise<Finding[]> {
  const { rows } = await pool.query<{ server: string }>(`SELECT current_setting('server_version') AS server`)
  return [fine('database', `PostgreSQL ${rows[0]?.server}, schema version ${migrations.length}`)]
}

function examineWrites({ as }: SystemExamination): Promise<readonly Finding[]> {
  return attempt('writes', () =>
    as(
      'schema_maintainer',
      async (pool) => {
        const obstacles = await checkWrites(pool)
        if (obstacles === null)
          return [finding('writes', 'writes_not_tested', 'the login lacks the privilege to test a write')]
        return obstacles.length > 0
          ? obstacles.map((obstacle) => explainAsFinding('writes', obstacle))
          : [fine('writes', 'a transaction was committed, and the disk has room')]
      },
      WRITE_MS_MAX,
    ),
  )
}

async function examineBreakers(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ paused: number }>(countPaused)
  const paused = rows[0]?.paused ?? 0
  return [
    paused === 0
      ? fine('breakers', 'no endpoint is paused')
      : finding('breakers', 'endpoints_paused', `${paused} endpoints keep failing and are paused`),
  ]
}

async function examineDeadLetters(pool: pg.Pool): Promise<Finding[]> {
  const { waiting, more } = await countWaitingLetters(pool, {
    withinS: DAY_S,
    examinedMax: DEAD_LETTERS_EXAMINED_MAX,
  })
  return [
    waiting === 0
      ? fine('dead_letters', 'none of the last day left to requeue')
      : finding(
          'dead_letters',
          'dead_letters_waiting',
          `${waiting}${more ? ' or more' : ''} of the last day not requeued`,
        ),
  ]
}
