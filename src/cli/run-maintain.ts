import { print } from './print-list.js'
import type { Terminal } from './terminal.js'
import { toJson } from './to-json.js'
import { withDatabase } from './with-role.js'

export const maintenanceTasks = ['vacuum', 'reindex', 'partitions'] as const

export interface MaintainOptions {
  task: (typeof maintenanceTasks)[number][]
  /** In milliseconds. */
  dropOlderThan?: number
  json?: true
}

const done = { vacuum: 'Vacuumed and analyzed', reindex: 'Rebuilt the indexes of' } as const

/** [G16] Runs the tasks in order, each with the least privileges; without --json, prints one line per table. */
export async function runMaintain(
  terminal: Terminal,
  { task: tasks, dropOlderThan, json }: MaintainOptions,
): Promise<void> {
  const { maintainSagaPartitions, maintainSagaTables } = await import('../sagas/index.js')
  const report: Record<string, unknown> = {}
  const say = (line: string) => (json ? undefined : print(terminal, line))
  await withDatabase(terminal.env, async ({ as, asLogin }) => {
    for (const task of maintenanceTasks.filter((each) => tasks.includes(each))) {
      if (task === 'partitions') {
        const partitions = await as('schema_maintainer', (pool) =>
          maintainSagaPartitions(pool, { dropOlderThanMs: dropOlderThan }),
        )
        report['partitions'] = partitions
        await say(`Created ${partitions.made} and dropped ${partitions.dropped} partitions of saga_events`)
        continue
      }
      const tables: string[] = []
      await asLogin((client) =>
        maintainSagaTables(client, task, (table) => {
          tables.push(table)
          void say(`${done[task]} ${table}`)
        }),
      )
      report[task] = tables
    }
  })
  if (json) await print(terminal, toJson(report))
}
