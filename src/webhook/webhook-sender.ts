import { packageVersion } from '../package-version.js'
import { createSecureConnector } from './connect-securely.js'
import { createConnectionPool } from './connection-pool.js'
import { createNameResolver, type NameResolverOptions } from './dns/index.js'
import { createAddressGuard } from './guard-addresses.js'
import type { Lookup } from './resolve-addresses.js'
import { sendRequest, type WebhookOutcome, type WebhookRequest } from './send-request.js'
import { trustAuthorities } from './trust-authorities.js'

export interface WebhookSender {
  /** Never throws because of the receiver: every such failure is an outcome. */
  send(request: WebhookRequest, options?: { signal?: AbortSignal }): Promise<WebhookOutcome>
  /** Ends every connection; requests in flight end as `aborted`. */
  close(): Promise<void>
}

export interface WebhookSenderOptions {
  /** For the whole exchange: lookup, connection, TLS, request, response. */
  requestTimeoutMs: number
  /** Non-public ranges that callbacks may use. */
  allowedCidrs: readonly string[]
  /** Additional authorities in PEM. */
  extraCertificateAuthorities?: readonly string[]
  /** For tests: name servers, files and limits other than the system's. */
  names?: Partial<NameResolverOptions>
}

/** How undici keeps connections; the benchmark's other systems use the same settings. */
export const connectionSettings = {
  pipelining: 1,
  // Receivers close idle connections after 5 s or more (Node's default is the shortest in wide use) …
  keepAliveTimeout: 4_000,
  // … or announce a longer time in a Keep-Alive header, which is honoured up to this limit.
  keepAliveMaxTimeout: 30_000,
  // The exchange has a deadline of its own: an idle time-out does not stop a receiver that sends single bytes.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const

/**
 * Busy connections are replaced at this age, so that a receiver that moved (DNS) is followed. The TLS session is
 * dropped as well, so that the receiver's certificate is checked again.
 */
const CONNECTION_AGE_MS_MAX = 300_000

const RESPONSE_HEADERS_BYTES_MAX = 16 * 1024

/**
 * Limit per look-up. With a short request time-out, a look-up gets half of it, so that the error can say that DNS
 * failed.
 */
const LOOKUP_TIMEOUT_MS = 5_000

export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const timeoutMs = Math.min(LOOKUP_TIMEOUT_MS, options.requestTimeoutMs / 2)
  const names = createNameResolver({ timeoutMs, ...options.names })
  const sender = createSenderWithLookup(options, names.resolve)
  return {
    ...sender,
    async close() {
      const closed = sender.close()
      // Closed last: requests that wait for a name end as aborted, not as DNS failures.
      names.close()
      await closed
    },
  }
}

/** For tests: a sender with the caller's own resolver. */
export function createSenderWithLookup(options: WebhookSenderOptions, lookup: Lookup): WebhookSender {
  const connector = createSecureConnector({
    guard: createAddressGuard(options.allowedCidrs),
    lookup,
    secureContext: trustAuthorities(options.extraCertificateAuthorities ?? []),
    connectTimeoutMs: options.requestTimeoutMs,
  })
  const createPool = () =>
    createConnectionPool({
      connect: connector.connect,
      ...connectionSettings,
      maxHeaderSize: RESPONSE_HEADERS_BYTES_MAX,
    })
  const shared = {
    connections: createPool(),
    requestTimeoutMs: options.requestTimeoutMs,
    userAgent: `sagapost/${packageVersion()}`,
  }
  let renewAtMs = performance.now() + connectionAgeMs()
  let isClosed = false
  const renewConnections = () => {
    renewAtMs = performance.now() + connectionAgeMs()
    shared.connections.close()
    connector.forgetSessions()
    shared.connections = createPool()
  }

  return {
    send(request, { signal } = {}) {
      if (performance.now() >= renewAtMs && !isClosed) renewConnections()
      return sendRequest(shared, request, signal)
    },
    async close() {
      isClosed = true
      const destroyed = shared.connections.destroy()
      // Including connections being established, and old ones that still have a request to finish.
      connector.closeAll()
      await destroyed
    },
  }
}

/** Varies per process: otherwise processes started together would all shake hands with every receiver at once. */
function connectionAgeMs(): number {
  return CONNECTION_AGE_MS_MAX * (0.75 + Math.random() / 4)
}
