import pg from 'pg'

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

export interface Plan {
  /** Every table or partition that the plan reads or writes. */
  relations: string[]
  /** Every index that it uses, by the name on its partitioned table. */
  indexes: string[]
  /** Tables and partitions that it reads from end to end. */
  scanned: string[]
}

/** The plan that the planner makes for these values, nothing run. Relations that match `ignore` do not count. */
export async function explain(
  client: pg.Pool | pg.PoolClient,
  sql: string,
  values: unknown[] = [],
  ignore = /^$/,
): Promise<Plan> {
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${sql}`, values)
  return toPlan(rows[0]['QUERY PLAN'][0].Plan, ignore)
}

/** After five plans for their values PostgreSQL may settle on one for all values, when it takes that for no dearer. */
const PLANS_BEFORE_SETTLING = 5

/** The plan that a prepared statement has in the long run. */
export async function explainPrepared(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[],
  ignore = /^$/,
): Promise<Plan> {
  const client = await pool.connect()
  try {
    await client.query(`PREPARE measured AS ${sql}`)
    const execute = `EXPLAIN (FORMAT JSON) EXECUTE measured (${values.map(toLiteral).join(', ')})`
    for (let plans = 0; plans < PLANS_BEFORE_SETTLING; plans++) await client.query(execute)
    const { rows } = await client.query(execute)
    return toPlan(rows[0]['QUERY PLAN'][0].Plan, ignore)
  } finally {
    await client.query('DEALLOCATE ALL')
    client.release()
  }
}

function toLiteral(value: unknown): string {
  if (value === null) return 'NULL'
  return pg.escapeLiteral(
    Array.isArray(value) ? `{${value.map((item) => item ?? 'NULL').join(',')}}` : String(value),
  )
}

function toPlan(plan: PlanNode, ignore: RegExp): Plan {
  const nodes = flatten(plan).filter(
    (node) => !ignore.test(node['Relation Name'] ?? node['Index Name'] ?? '-'),
  )
  return {
    relations: unique(nodes.map((node) => node['Relation Name'])),
    indexes: unique(nodes.map((node) => node['Index Name']?.replace(/_from_\d+$/, ''))),
    scanned: unique(
      nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']),
    ),
  }
}

/**
 * Runs the statement and counts the rows that it took from tables, those that a filter then threw away
 * included: what a page costs, whatever the planner believed.
 */
export async function countRowsRead(client: pg.Pool, sql: string, values: unknown[]): Promise<number> {
  const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`, values)
  return rowsReadBy(rows[0]['QUERY PLAN'][0].Plan)
}

/** The same, with the one plan for all values that is made now; what is in the tables may change before it is run. */
export async function countRowsReadWhenPreparedBefore(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[],
): Promise<() => Promise<number>> {
  const client = await pool.connect()
  const execute = `EXECUTE measured (${values.map(toLiteral).join(', ')})`
  await client.query('SET plan_cache_mode = force_generic_plan')
  await client.query(`PREPARE measured AS ${sql}`)
  await client.query(`EXPLAIN ${execute}`)
  return async () => {
    try {
      const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${execute}`)
      return rowsReadBy(rows[0]['QUERY PLAN'][0].Plan)
    } finally {
      client.release(true)
    }
  }
}

/** The tables and partitions that are in the one plan for all values, and were left out when it ran with these. */
export async function findLeftOut(pool: pg.Pool, sql: string, values: readonly unknown[]): Promise<string[]> {
  const client = await pool.connect()
  try {
    await client.query('SET plan_cache_mode = force_generic_plan')
    await client.query(`PREPARE measured AS ${sql}`)
    const execute = `EXECUTE measured (${values.map(toLiteral).join(', ')})`
    const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${execute}`)
    const unused = flatten(rows[0]['QUERY PLAN'][0].Plan).filter((node) => node['Actual Loops'] === 0)
    return unique(unused.map((node) => node['Relation Name']))
  } finally {
    client.release(true)
  }
}

function rowsReadBy(plan: PlanNode): number {
  const scans = flatten(plan).filter((node) => node['Relation Name'] !== undefined)
  return scans.reduce((sum, node) => {
    const perLoop = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Index Recheck'] as const
    return sum + perLoop.reduce((all, key) => all + (node[key] ?? 0), 0) * (node['Actual Loops'] ?? 0)
  }, 0)
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

function unique(names: (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))].sort()
}
