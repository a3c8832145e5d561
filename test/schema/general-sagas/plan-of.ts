import type pg from 'pg'

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  Plans?: PlanNode[]
}

/** Every access to a table in the plan: the name of the index, or the kind of scan where there is none. */
function accessesOf(node: PlanNode): string[] {
  const own = node['Index Name'] ?? (node['Node Type'].endsWith('Seq Scan') ? 'Seq Scan' : undefined)
  return [...(own === undefined ? [] : [own]), ...(node.Plans ?? []).flatMap(accessesOf)]
}

async function explain(client: pg.PoolClient, statement: string): Promise<string[]> {
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${statement}`)
  return accessesOf(rows[0]['QUERY PLAN'][0].Plan)
}

/** What the planner uses for the statement: of a value it sees, and of a parameter it does not see. */
export async function planOf(
  pool: pg.Pool,
  statement: string,
  parameter?: string,
): Promise<{ forValue: string[]; forAnyValue: string[] }> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(`PREPARE pattern ${parameter === undefined ? '' : '(varchar)'} AS ${statement}`)
    const execute = `EXECUTE pattern ${parameter === undefined ? '' : `(${client.escapeLiteral(parameter)})`}`
    await client.query('SET LOCAL plan_cache_mode = force_custom_plan')
    const forValue = await explain(client, execute)
    await client.query('SET LOCAL plan_cache_mode = force_generic_plan')
    const forAnyValue = await explain(client, execute)
    return { forValue, forAnyValue }
  } finally {
    await client.query('ROLLBACK')
    await client.query('DEALLOCATE ALL')
    client.release()
  }
}
