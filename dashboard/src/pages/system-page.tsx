import type { ReactNode } from 'react'
import { type SystemDescription, useOne } from '../api/index.js'
import {
  Badge,
  EmptyState,
  Facts,
  formatBytes,
  formatCount,
  formatDuration,
  Page,
  Panel,
  ProblemNotice,
  ScrollArea,
  Skeleton,
  showText,
  Time,
} from '../parts/index.js'

const REFRESH_MS = 10_000
const INDEXES_SHOWN_MAX = 40

export function SystemPage() {
  const { data: system, error } = useOne<SystemDescription>('/v1/system', { refreshMs: REFRESH_MS })
  return (
    <Page title="System">
      {error && <ProblemNotice error={error} />}
      {!system && !error && <Skeleton rows={10} />}
      {system && (
        <>
          <Panel title="Database">
            <Facts
              facts={[
                ['PostgreSQL', system.serverVersion],
                ['Schema version', system.schemaVersion],
                ['Size', formatBytes(system.databaseBytes)],
                ['Connections', `${system.connections} of ${system.connectionsMax}`],
                ['Data', formatBytes(sum(system.tables.map(({ tableBytes }) => tableBytes)))],
                ['Indexes', formatBytes(sum(system.tables.map(({ indexBytes }) => indexBytes)))],
              ]}
            />
          </Panel>
          <Processes processes={system.processes} />
          <Panel title="Tables">
            <Table
              label="Tables"
              numbersFrom={1}
              head={['Table', 'Rows (estimate)', 'Partitions', 'Data', 'Indexes']}
              rows={system.tables.map(({ name, rowsEstimated, partitions, tableBytes, indexBytes }) => [
                <span key="name" className="mono">
                  {name}
                </span>,
                rowsEstimated === null ? '–' : formatCount(rowsEstimated),
                partitions > 0 ? partitions : '',
                formatBytes(tableBytes),
                formatBytes(indexBytes),
              ])}
            />
          </Panel>
          <Panel title="Indexes" aside={<span className="text-soft">the largest first</span>}>
            <Table
              label="Indexes"
              numbersFrom={2}
              head={['Index', 'Table', 'Size', 'Used']}
              rows={system.indexes.slice(0, INDEXES_SHOWN_MAX).map(({ name, table, bytes, scans }) => [
                <span key="name" className="mono">
                  {name}
                </span>,
                <span key="table" className="mono text-soft">
                  {table}
                </span>,
                formatBytes(bytes),
                scans === 0 ? 'never' : `${formatCount(scans)} ×`,
              ])}
            />
          </Panel>
          <SlowStatements statements={system.slowStatements} />
        </>
      )}
    </Page>
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}

function Processes({ processes }: { processes: SystemDescription['processes'] }) {
  return (
    <Panel title="Processes">
      {processes.length === 0 ? (
        <EmptyState title="No running processes" />
      ) : (
        <Table
          label="Processes"
          numbersFrom={4}
          head={['Process', 'State', 'Parts', 'Version', 'Since', 'Leases', 'First expiry']}
          rows={processes.map((each) => [
            <span key="id" className="mono" title={each.id}>
              {showText(each.hostname || each.id)}{' '}
              {each.pid > 0 && <span className="text-soft">pid {each.pid}</span>}
            </span>,
            each.lost ? (
              <Badge key="lost" tone="bad">
                Lost
              </Badge>
            ) : (
              <Badge key="runs" tone="good">
                Runs
              </Badge>
            ),
            each.parts.join(', '),
            each.version,
            each.startedAt ? <Time key="since" at={each.startedAt} /> : '',
            each.leasesExpired > 0 ? (
              <span key="leases" className="text-bad">
                {each.leases}, {each.leasesExpired} expired
              </span>
            ) : (
              each.leases
            ),
            each.leaseUntil ? <Time key="until" at={each.leaseUntil} /> : '',
          ])}
        />
      )}
    </Panel>
  )
}

function SlowStatements({ statements }: { statements: SystemDescription['slowStatements'] }) {
  return (
    <Panel title="Statements" aside={<span className="text-soft">by the time they took in all</span>}>
      {statements === null ? (
        <EmptyState title="Not measured">
          The extension pg_stat_statements is not installed in this database.
        </EmptyState>
      ) : statements.length === 0 ? (
        <EmptyState title="No statements measured yet" />
      ) : (
        <Table
          label="Statements"
          numbersFrom={1}
          head={['Statement', 'Calls', 'Mean', 'Total']}
          rows={statements.map(({ query, calls, meanMs, totalMs }) => [
            <code
              key="query"
              className="mono line-clamp-2 max-w-3xl break-all whitespace-pre-wrap"
              title={query}
            >
              {showText(query.replace(/\s+/g, ' ').trim())}
            </code>,
            formatCount(calls),
            formatDuration(meanMs),
            formatDuration(totalMs),
          ])}
        />
      )}
    </Panel>
  )
}

interface TableProps {
  label: string
  head: readonly string[]
  rows: readonly ReactNode[][]
  /** Values are right-aligned from this column on. */
  numbersFrom: number
}

function Table({ label, head, rows, numbersFrom }: TableProps) {
  const look = (column: number) =>
    `whitespace-nowrap px-3 first:pl-4 last:pr-4 ${column >= numbersFrom ? 'text-right' : ''}`
  return (
    <ScrollArea label={label} className="">
      <table className="w-full">
        <thead>
          <tr className="border-b border-line text-left text-xs text-faint">
            {head.map((name, column) => (
              <th key={name} className={`py-2 font-medium ${look(column)}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a table that is read anew as a whole
            <tr key={row} className="border-b border-line last:border-0">
              {cells.map((cell, column) => (
                <td key={head[column]} className={`py-1.5 ${look(column)}`}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}
