import pc from 'picocolors'
import { loadMigrations, migrationsFolder } from '../database/index.js'
import {
  checkInvariants,
  compareTerminals,
  examineSystem,
  type Finding,
  invariants,
  readHashes,
  snapshotTerminals,
  type Violation,
  writeHashes,
} from '../doctor/index.js'
import { SagapostError } from '../errors/index.js'
import type { Environment } from './connect-api.js'
import { formatFields, makeVisible } from './format-table.js'
import { print } from './print-list.js'
import { toJson } from './to-json.js'
import { withDatabase } from './with-role.js'

const EXIT_FAILING = 1
/** Of PostgreSQL's: the statement is longer than a pool's own limit would allow, and reads whole tables. */
const STATEMENT_MS_MAX = 30 * 60_000

/** A commit that takes longer waits for something that is not there. */
const WRITE_MS_MAX = 5_000

export interface DoctorArguments {
  invariants?: true
  settled?: true
  hashes?: string
  json?: true
}

/** Looks at a live system, and with --invariants at all of its data; exits with 1 when something does not work or hold. */
export async function runDoctor(env: Environment, options: DoctorArguments): Promise<void> {
  const { hashes, json } = options
  const checking = options.invariants || options.settled || hashes !== undefined
  if (hashes !== undefined) await onFile(hashes, () => readHashes(hashes))
  const migrations = await loadMigrations(migrationsFolder)
  const queryTimeoutMs = checking ? STATEMENT_MS_MAX : undefined
  const { findings, violations } = await withDatabase(env, ({ as }) =>
    as(
      'saga_readonly_role',
      async (pool) => {
        const findings = await as(
          'schema_maintainer',
          (writes) => examineSystem(pool, migrations, writes),
          WRITE_MS_MAX,
        )
        const isMigrated = !findings.some(
          ({ check, severity }) => check === 'database' && severity === 'failing',
        )
        if (!checking || !isMigrated) return { findings }
        const violations = await checkInvariants(pool, { settled: options.settled === true })
        if (hashes !== undefined) {
          const before = await onFile(hashes, () => readHashes(hashes))
          const after = await snapshotTerminals(pool)
          const changed = before ? compareTerminals(before, after) : []
          violations.push(...changed)
          // What has changed is told until somebody takes the file away: it is the evidence.
          if (changed.length === 0) await onFile(hashes, () => writeHashes(hashes, after))
        }
        return { findings, violations }
      },
      queryTimeoutMs,
    ),
  )
  await print(json ? toJson({ findings, violations }) : describe(findings, violations))
  if (findings.some(({ severity }) => severity === 'failing') || (violations?.length ?? 0) > 0) {
    process.exitCode = EXIT_FAILING
  }
}

const paints = { ok: pc.green, attention: pc.yellow, failing: pc.red }

function describe(findings: readonly Finding[], violations: readonly Violation[] | undefined): string {
  const lines = findings.map(
    ({ check, severity, detail }) =>
      `${paints[severity](severity.padEnd(9))}  ${check.padEnd(12)}  ${makeVisible(detail)}`,
  )
  for (const { invariant, rules, detail, ids } of violations ?? []) {
    lines.push(
      `${pc.red('violated ')}  ${invariant}`,
      formatFields([
        ['           rules', rules.join(', ')],
        ['           found', detail],
        ['           ids', ids.join(', ')],
      ]),
    )
  }
  if (violations?.length === 0) {
    lines.push(`${pc.green('ok       ')}  ${'invariants'.padEnd(12)}  all ${invariants.length} hold`)
  }
  return lines.join('\n')
}

async function onFile<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw new SagapostError('config_invalid', `--hashes ${file}: ${(error as Error).message}`)
  }
}
