import type pg from 'pg'

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
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
  const nodes = flatten(rows[0]['QUERY PLAN'][0].Plan).filter(
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

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

function unique(names: (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))].sort()
}
