/** A way in which a live schema is not the release's, and the statements that mend it. */
export interface Difference {
  code: DifferenceCode
  /** `note`: an addition of the operator's that changes nothing. */
  severity: 'failing' | 'attention' | 'note'
  /** Such as `index sagapost.idx_job_status_lease on webhook_delivery_jobs`. */
  object: string
  detail: string
  /** In order, each as a transaction of its own; empty where no statement is safe. */
  mend: readonly string[]
}

export type DifferenceCode =
  | 'object_missing'
  | 'object_altered'
  | 'object_extra'
  | 'index_missing'
  | 'index_invalid'
  | 'index_extra'
  | 'trigger_missing'
  | 'trigger_disabled'
  | 'grant_missing'
  | 'grant_extra'
  | 'partition_unguarded'
  | 'partition_altered'
