import type pg from 'pg'
import { LOST_AFTER_MS } from '../observability/index.js'
import { type Finding, finding } from './finding.js'

const DEFINITIONS_MAX = 1_000
const SAGAS_COUNTED_MAX = 10_000

/**
 * Each version of each definition that has open sagas, one look by idx_saga_runnable for each; then what is due of those
 * that no running process has. A process of a release before does not say what it has: then nothing is found.
 */
export const selectSagasWithoutProcess = `
  WITH RECURSIVE open AS (
    (SELECT definition_id, definition_version, 1 AS place FROM sagapost.saga_instances
     WHERE state IN (0, 1, 2, 4) AND wake_at IS NOT NULL
     ORDER BY definition_id, definition_version LIMIT 1)
    UNION ALL
    SELECT next.definition_id, next.definition_version, open.place + 1
    FROM open CROSS JOIN LATERAL (
      SELECT definition_id, definition_version FROM sagapost.saga_instances
      WHERE state IN (0, 1, 2, 4) AND wake_at IS NOT NULL
        AND (definition_id, definition_version) > (open.definition_id, open.definition_version)
      ORDER BY definition_id, definition_version LIMIT 1
    ) AS next
    WHERE open.place < $1
  ), running AS MATERIALIZED (
    SELECT saga_definitions FROM sagapost.processes
    WHERE seen_at >= sagapost.now() - $3 * interval '1 millisecond' AND 'sagas' = ANY (parts)
  )
  SELECT definition_id || '@' || definition_version AS definition, due.count, due.oldest_s
  FROM open CROSS JOIN LATERAL (
    SELECT count(*)::int, extract(epoch FROM sagapost.now() - min(wake_at))::int AS oldest_s
    FROM (SELECT wake_at FROM sagapost.saga_instances AS saga
          WHERE saga.definition_id = open.definition_id AND saga.definition_version = open.definition_version
            AND state IN (0, 1, 2, 4) AND wake_at <= sagapost.now()
          ORDER BY wake_at LIMIT $2) AS waiting
  ) AS due
  WHERE due.count > 0 AND NOT starts_with(definition_id, 'sagapost.')
    AND NOT EXISTS (SELECT FROM running WHERE saga_definitions IS NULL
                    OR definition_id || '@' || definition_version = ANY (saga_definitions))
  ORDER BY definition_id, definition_version`

/** Under the role saga_readonly_role. */
export async function findSagasWithoutProcess(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ definition: string; count: number; oldest_s: number }>(
    selectSagasWithoutProcess,
    [DEFINITIONS_MAX, SAGAS_COUNTED_MAX, LOST_AFTER_MS],
  )
  return rows.map(({ definition, count, oldest_s: oldestS }) => {
    const many = count === SAGAS_COUNTED_MAX ? `${count} or more` : `${count}`
    return finding(
      'processes',
      'sagas_without_process',
      `${definition}: ${many} due, the oldest for ${oldestS} s`,
    )
  })
}
