import type pg from 'pg'
import { abandonPool, createRolePool } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { createBacklogCollector, createMetrics } from '../observability/index.js'
import { createSecretBox } from '../subscriptions/index.js'
import { createWebhookSender, parseAllowedCidrs, type WebhookSender } from '../webhook/index.js'
import type { Context, OperationRole } from './context.js'
import type { Settings } from './read-options.js'

const CONNECTIONS_MAX = 4

export interface OpenContext extends Context {
  close(): Promise<void>
  /** Abandons the work that `close` waits for. */
  abandon(): Promise<void>
}

/** Creates a pool for each role, which connects on first use. */
export function createContext(
  { databaseUrl, config }: Settings,
  options: { extraCertificateAuthorities: readonly string[]; wake: Context['wake'] },
): OpenContext {
  const open = (role: OperationRole) => createRolePool({ databaseUrl, role, connectionsMax: CONNECTIONS_MAX })
  const pools: Record<OperationRole, pg.Pool> = {
    event_ingest_writer: open('event_ingest_writer'),
    subscription_admin: open('subscription_admin'),
    saga_readonly_role: open('saga_readonly_role'),
    dead_letter_operator: open('dead_letter_operator'),
    saga_app_role: open('saga_app_role'),
  }
  const allowedCidrs = parseAllowedCidrs(config.allowedCidrs)
  const { extraCertificateAuthorities } = options
  let sender: WebhookSender | undefined
  let closed = false
  const requireOpen = () => {
    if (closed)
      throw new SagapostError('instance_stopped', 'this Sagapost instance was stopped; create a new one')
  }

  return {
    allowedCidrs,
    metrics: createMetrics({ backlog: createBacklogCollector(pools.saga_readonly_role) }),
    wake: options.wake,
    pool(role) {
      requireOpen()
      return pools[role]
    },
    box() {
      if (config.masterKey) return createSecretBox(config.masterKey)
      throw new SagapostError('config_invalid', 'masterKey is missing; secrets cannot be created or read')
    },
    sender() {
      requireOpen()
      const { requestTimeoutMs } = config
      sender ??= createWebhookSender({ requestTimeoutMs, allowedCidrs, extraCertificateAuthorities })
      return sender
    },
    async close() {
      closed = true
      await Promise.all([sender?.close(), ...Object.values(pools).map((pool) => pool.end())])
    },
    async abandon() {
      await Promise.all(Object.values(pools).map(abandonPool))
    },
  }
}
