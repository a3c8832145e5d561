import { packageVersion } from '../package-version.js'
import { createSecureConnector } from './connect-securely.js'
import { createConnectionPool } from './connection-pool.js'
import { createNameResolver, type NameResolverOptions } from './dns/index.js'
import { createAddressGuard } from './guard-addresses.js'
import type { Lookup } from './resolve-addresses.js'
import { sendRequest, type WebhookOutcome, type WebhookRequest } from './send-request.js'
import { trustAuthorities } from './trust-authorities.js'

export interface WebhookSender {
  /** Never throws for anything that the receiver does: that is the outcome. */
  send(request: WebhookRequest, options?: { signal?: AbortSignal }): Promise<WebhookOutcome>
  /** Ends every connection; what is still under way ends as `aborted`. */
  close(): Promise<void>
}

export interface WebhookSenderOptions {
  /** For the whole exchange: lookup, connection, TLS, request, response. */
  requestTimeoutMs: number
  /** Ranges that callbacks may use though they are not public. */
  allowedCidrs: readonly string[]
  /** PEM, beside Node's own. */
  extraCertificateAuthorities?: readonly string[]
  /** Other name servers, files and limits than the system's, for tests. */
  names?: Partial<NameResolverOptions>
}

/** How undici keeps connections; the benchmark's other systems post with the same. */
export const connectionSettings = {
  pipelining: 1,
  // Receivers close idle connections after 5 s and more (Node's default is the shortest in wide use) …
  keepAliveTimeout: 4_000,
  // … or say more in a Keep-Alive header, of which this is believed.
  keepAliveMaxTimeout: 30_000,
  // The exchange has one deadline of its own: an idle time-out does not stop a receiver that drips.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const

/**
 * A busy connection is replaced now and then, or a receiver that moved (DNS) would never be followed; with it goes the
 * TLS session, and the receiver's certificate is checked again.
 */
const CONNECTION_AGE_MS_MAX = 300_000

const RESPONSE_HEADERS_BYTES_MAX = 16 * 1024

/** For one look-up; a short time-out of requests leaves half of itself for the rest, and the error says that it was DNS. */
const LOOKUP_TIMEOUT_MS = 5_000

export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const timeoutMs = Math.min(LOOKUP_TIMEOUT_MS, options.requestTimeoutMs / 2)
  const names = createNameResolver({ timeoutMs, ...options.names })
  const sender = createSenderWithLookup(options, names.resolve)
  return {
    ...sender,
    async close() {
      const closed = sender.close()
      // After it: what waited for a name ends as aborted, not for DNS.
      names.close()
      await closed
    },
  }
}

/** With a resolver of the caller's, for tests. */
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
      // Also those that are still being made, and those of before that have a request to end.
      connector.closeAll()
      await destroyed
    },
  }
}

/** Not the same for all: processes that were started together would shake hands with everybody at once. */
function connectionAgeMs(): number {
  return CONNECTION_AGE_MS_MAX * (0.75 + Math.random() / 4)
}
