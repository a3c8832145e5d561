import pc from 'picocolors'
import type { SagaTables } from '../sagas/index.js'
import { createTable } from './format-table.js'
import { formatAgo, formatBytes } from './format-values.js'
import { print } from './print-list.js'
import type { Terminal } from './terminal.js'
import { toJson } from './to-json.js'
import { withRole } from './with-role.js'

/** [G16] Sizes, dead rows, last vacuum, index usage and slow statements, under saga_readonly_role. */
export async function showSagaTables(terminal: Terminal, { json }: { json?: true }): Promise<void> {
  const { readSagaTables } = await import('../sagas/index.js')
  const tables = await withRole(terminal.env, 'saga_readonly_role', readSagaTables)
  await print(terminal, json ? toJson(tables) : describeTables(tables))
}

const count = (value: number) => value.toLocaleString('en')
const ago = (time: Date | null) => formatAgo(time?.toISOString() ?? null)

function describeTables({ sizes, indexes, slowQueries }: SagaTables): string {
  const tableTitles = ['TABLE', 'ROWS', 'DEAD', 'DATA', 'INDEXES', 'TOTAL', 'VACUUMED', 'ANALYZED']
  const tables = createTable(tableTitles)(
    sizes.map((table) => [
      table.tableName,
      ...[table.rowsEstimated, table.deadRows].map(count),
      ...[table.tableBytes, table.indexBytes, table.totalBytes].map(formatBytes),
      ...[table.vacuumedAt, table.analyzedAt].map(ago),
    ]),
  )
  const usage = createTable(['INDEX', 'TABLE', 'SCANS', 'ROWS READ', 'SIZE', ''])(
    indexes.map(({ indexName, tableName, scans, rowsRead, indexBytes, isValid }) => [
      ...[indexName, tableName, count(scans), count(rowsRead), formatBytes(indexBytes)],
      isValid ? '' : { text: 'invalid: drop it', paint: pc.red },
    ]),
  )
  return [tables, usage, describeSlow(slowQueries)].join('\n\n')
}

function describeSlow(slowQueries: SagaTables['slowQueries']): string {
  if (slowQueries === null)
    return 'Slow queries are not recorded: the extension pg_stat_statements is not active'
  if (slowQueries.length === 0) return 'No slow queries recorded'
  return createTable(['MEAN', 'CALLS', 'TOTAL', 'QUERY'])(
    slowQueries.map(({ meanMs, calls, totalMs, query }) => [
      ...[`${meanMs.toFixed(1)} ms`, count(calls), `${Math.round(totalMs)} ms`],
      query.replaceAll(/\s+/g, ' '),
    ]),
  )
}
