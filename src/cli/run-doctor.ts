import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import pc from 'picocolors'
import { hasLoginPerRole, readConfig } from '../config/index.js'
import { loadMigrations, migrationsFolder } from '../database/index.js'
import {
  checkInvariants,
  compareSchema,
  compareTerminals,
  type Difference,
  examineSystem,
  explainFailure,
  type Finding,
  invariants,
  isFindingCode,
  nameRule,
  readHashes,
  snapshotTerminals,
  type Violation,
  writeHashes,
} from '../doctor/index.js'
import { SagapostError } from '../errors/index.js'
import { DEV_KEY_FILE, devMasterKey } from './dev-master-key.js'
import { formatFields, makeVisible } from './format-table.js'
import { print } from './print-list.js'
import type { Terminal } from './terminal.js'
import { toJson } from './to-json.js'
import { type Visit, withDatabase } from './with-role.js'

const EXIT_FAILING = 1
/** PostgreSQL's statement timeout: the checks read whole tables and exceed a pool's usual limit. */
const STATEMENT_MS_MAX = 30 * 60_000

export interface DoctorArguments {
  schema?: true
  invariants?: true
  settled?: true
  hashes?: string
  json?: true
}

interface Report {
  findings: readonly Finding[]
  differences?: readonly Difference[]
  violations?: readonly Violation[]
}

/** Checks a live system; --schema and --invariants check everything. Exits with 1 when a check fails or a rule is broken. */
export async function runDoctor(terminal: Terminal, options: DoctorArguments): Promise<void> {
  const { env } = terminal
  const { hashes, json } = options
  if (hashes !== undefined) await onFile(hashes, () => readHashes(hashes))
  const report = await withDatabase(env, (visit) => examine(env, options, visit)).catch(explainAbsence)
  await print(terminal, json ? toJson(report) : describe(report))
  const { findings, differences = [], violations = [] } = report
  const isBroken =
    findings.some(({ severity }) => severity === 'failing') ||
    differences.some(({ severity }) => severity !== 'note') ||
    violations.length > 0
  if (isBroken) terminal.exitCode = EXIT_FAILING
}

async function examine(env: Terminal['env'], options: DoctorArguments, { as }: Visit): Promise<Report> {
  const { hashes } = options
  const { databaseUrl } = readConfig(env)
  const findings = await examineSystem({
    as,
    migrations: await loadMigrations(migrationsFolder),
    masterKey: await findMasterKey(env),
    hasLoginPerRole: hasLoginPerRole(databaseUrl ?? ''),
    isEmbedded: databaseUrl === undefined,
  })
  if (findings.some(({ check, severity }) => check === 'database' && severity === 'failing'))
    return { findings }
  const differences = options.schema && (await as('saga_readonly_role', compareSchema))
  const checking = options.invariants || options.settled || hashes !== undefined
  const violations =
    checking && (await as('saga_readonly_role', (pool) => check(pool, options), STATEMENT_MS_MAX))
  return {
    // Printed in full below, with the statements.
    findings: differences ? findings.filter(({ check }) => check !== 'schema') : findings,
    ...(differences && { differences }),
    ...(violations && { violations }),
  }
}

async function check(pool: pg.Pool, { settled, hashes }: DoctorArguments): Promise<Violation[]> {
  const violations = await checkInvariants(pool, { settled: settled === true })
  if (hashes === undefined) return violations
  const before = await onFile(hashes, () => readHashes(hashes))
  const after = await snapshotTerminals(pool)
  const changed = before ? compareTerminals(before, after) : []
  // The change is reported until an operator removes the file: it is the evidence.
  if (changed.length === 0) await onFile(hashes, () => writeHashes(hashes, after))
  return [...violations, ...changed]
}

/** The master key from the environment, or the one in the data directory of `sagapost dev`. */
async function findMasterKey(env: Terminal['env']): Promise<Buffer | undefined> {
  const { masterKey, databaseUrl, dataDir } = readConfig(env)
  if (masterKey || databaseUrl !== undefined || !existsSync(join(dataDir, DEV_KEY_FILE))) return masterKey
  return devMasterKey(dataDir)
}

/** An unreachable database is reported as a finding. */
function explainAbsence(error: unknown): Report {
  if (!(error instanceof SagapostError) || !isFindingCode(error.code)) throw error
  return { findings: [explainFailure('database', error)] }
}

/** Prints each finding, followed by its remedy. */
const INDENT = ' '.repeat(25)

const RULES_PAGE = 'docs/internals/rules.md'

const paints = { ok: pc.green, attention: pc.yellow, failing: pc.red }

function describe({ findings, differences, violations }: Report): string {
  const line = (severity: Finding['severity'], check: string, detail: string) =>
    `${paints[severity](severity.padEnd(9))}  ${check.padEnd(12)}  ${makeVisible(detail)}`
  const lines = findings.flatMap(({ check, severity, code, detail, remedy }) => [
    line(severity, check, code === undefined ? detail : `${detail} [${code}]`),
    ...(remedy === undefined ? [] : [INDENT + makeVisible(remedy)]),
  ])
  for (const { code, severity, object, detail, mend } of differences ?? []) {
    const paint = severity === 'note' ? pc.dim : paints[severity]
    lines.push(
      `${paint(severity.padEnd(9))}  ${'schema'.padEnd(12)}  ${makeVisible(`${object} ${detail}`)} [${code}]`,
      ...mend.map((statement) => `${statement.split('\n').map(makeVisible).join('\n')};`),
    )
  }
  if (differences?.length === 0) lines.push(line('ok', 'schema', 'matches this release'))
  for (const { invariant, rules, detail, ids } of violations ?? []) {
    lines.push(
      `${pc.red('violated ')}  ${invariant}`,
      formatFields([
        ...rules.map((rule) => ['           rule', nameRule(rule)] as const),
        ['           found', detail],
        ['           ids', ids.join(', ')],
      ]),
    )
  }
  if (violations?.length) lines.push(`${' '.repeat(11)}The rules are explained in ${RULES_PAGE}`)
  if (violations?.length === 0) lines.push(line('ok', 'invariants', `all ${invariants.length} hold`))
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
