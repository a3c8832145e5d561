import type pg from 'pg'

const tasks = {
  /** Frees dead rows and refreshes the planner's statistics. */
  vacuum: [
    'VACUUM (ANALYZE) sagapost.saga_instances',
    'VACUUM (ANALYZE) sagapost.saga_steps',
    'VACUUM (ANALYZE) sagapost.saga_events',
  ],
  /** Builds the indexes of what is updated often anew, without keeping anybody from writing. */
  reindex: [
    'REINDEX TABLE CONCURRENTLY sagapost.saga_instances',
    'REINDEX TABLE CONCURRENTLY sagapost.saga_steps',
  ],
  /** [G15] Nothing, unless saga_events is partitioned. */
  partitions: ['SELECT sagapost.ensure_saga_event_partitions()'],
} as const

export type SagaMaintenance = keyof typeof tasks

export const sagaMaintenanceTasks = Object.keys(tasks) as readonly SagaMaintenance[]

/** [G16] Runs one task, table after table. The pool is the owner's; its statement time-out must not be short. */
export async function maintainSagaTables(pool: pg.Pool, task: SagaMaintenance): Promise<void> {
  for (const statement of tasks[task]) await pool.query(statement)
}
