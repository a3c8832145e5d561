import type { Part } from './fault.js'

interface Mark {
  /** Whose connections are watched; the publisher's are the harness's own. */
  of: Part | 'publisher'
  /** Part of the statement's text; test/faults/marks.test.ts looks it up in the source. */
  text: string
}

/** The points at which a process is killed or cut off: around the statements that move a delivery on. */
export const marks = {
  'store-events': { of: 'api', text: 'sagapost.publish_batch(' },
  'take-events': { of: 'router', text: 'cardinality(event_ids) AS size' },
  'make-sagas': { of: 'router', text: 'SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[])' },
  'commit-routing': { of: 'router', text: 'COMMIT' },
  'make-first-jobs': { of: 'orchestrator', text: 'FROM lazily CROSS JOIN due' },
  'make-retry-jobs': { of: 'orchestrator', text: 'CASE WHEN decided.retry THEN' },
  'apply-results': { of: 'orchestrator', text: 'DELETE FROM sagapost.delivery_result_queue' },
  'commit-results': { of: 'orchestrator', text: 'COMMIT' },
  'claim-jobs': { of: 'worker', text: 'AS looked_at_ms' },
  'report-results': { of: 'worker', text: 'retry_after_s = result.retry_after_s' },
  'reset-leases': { of: 'cleaner', text: 'lease_resets = lease_resets + 1' },
  'claim-sagas': { of: 'sagas', text: 'AS recovered' },
  'write-sagas': { of: 'sagas', text: 'sagapost.write_saga_changes(' },
  'commit-step': { of: 'sagas', text: 'COMMIT' },
  'commit-publication': { of: 'publisher', text: 'COMMIT' },
} as const satisfies Record<string, Mark>

export type MarkName = keyof typeof marks
export const markNames = Object.keys(marks) as MarkName[]

/** What is acknowledged after its commit: it must survive a crash at the next moment [S22]. */
export const promises: readonly MarkName[] = [
  'store-events',
  'commit-publication',
  'report-results',
  'commit-results',
  'write-sagas',
  'commit-step',
]
