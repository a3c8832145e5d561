import type pg from 'pg'
import type { Stage } from '../loop/index.js'
import type { Metrics } from '../observability/index.js'
import type { SecretBox } from '../subscriptions/index.js'
import type { WebhookSender } from '../webhook/index.js'

/** Shared by the operations of an instance. Everything throws `instance_stopped` after the stop. */
export interface Context {
  pool(role: OperationRole): pg.Pool
  /** Throws `config_invalid` when the instance has no master key. */
  box(): SecretBox
  sender(): WebhookSender
  allowedCidrs: readonly string[]
  metrics: Metrics
  wake(stage: Stage): void
}

export type OperationRole =
  | 'event_ingest_writer'
  | 'subscription_admin'
  | 'saga_readonly_role'
  | 'dead_letter_operator'
  | 'saga_app_role'
