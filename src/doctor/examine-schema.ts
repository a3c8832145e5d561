import type pg from 'pg'
import { type Finding, finding, fine } from './finding.js'
import { compareSchema, type Difference } from './schema/index.js'

const NAMED_MAX = 3

/** A line for each way in which the schema differs; --schema has all of it, with the statements. */
export async function examineSchema(pool: pg.Pool): Promise<Finding[]> {
  const differences = (await compareSchema(pool)).filter(({ severity }) => severity !== 'note')
  if (differences.length === 0) return [fine('schema', 'matches this release')]
  const groups = new Map<string, Difference[]>()
  for (const difference of differences) {
    const key = `${difference.severity} ${difference.code}`
    groups.set(key, [...(groups.get(key) ?? []), difference])
  }
  return [...groups.values()].map((group) => summarise(group as [Difference, ...Difference[]]))
}

function summarise(group: readonly [Difference, ...Difference[]]): Finding {
  const [first] = group
  const named = group.slice(0, NAMED_MAX).map(({ object, detail }) => `${object} ${detail}`)
  const more = group.length > NAMED_MAX ? `, and ${group.length - NAMED_MAX} more` : ''
  const isOne = group.length === 1 && first.mend.length === 1
  return {
    ...finding('schema', first.code, `${named.join(', ')}${more}`, isOne ? first.mend[0] : undefined),
    severity: first.severity === 'failing' ? 'failing' : 'attention',
  }
}
