import { isIP, connect as netConnect, type Socket } from 'node:net'
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { buildConnector } from 'undici'
import { connectFailure, handshakeFailure } from './classify-failure.js'
import { DeliveryFailure } from './delivery-errors.js'
import type { ResolvedAddress } from './dns/index.js'
import type { AddressGuard } from './guard-addresses.js'
import { type Lookup, resolveAddresses } from './resolve-addresses.js'
import { createTlsSessions } from './tls-sessions.js'

/** How long each of several addresses is tried before the next. */
const ATTEMPT_TIMEOUT_MS = 500

/** After this long without a byte, the kernel probes whether the peer is still there. */
const KEEP_ALIVE_PROBE_MS = 60_000

export interface SecureConnector {
  connect: buildConnector.connector
  /** Forgets all TLS sessions: every receiver must present its certificate again. */
  forgetSessions(): void
  /** Ends every connection, including those being established, and makes no more. */
  closeAll(): void
}

/**
 * Makes undici's connections such that the checked address is the one connected to. It checks (1) literals and (2)
 * looked-up addresses before anything is sent, and (3) the peer of the connected socket before the first byte,
 * including those of the TLS handshake.
 */
export function createSecureConnector(options: {
  guard: AddressGuard
  lookup: Lookup
  secureContext: SecureContext
  connectTimeoutMs: number
}): SecureConnector {
  const { guard, lookup, secureContext, connectTimeoutMs } = options
  let sessions = createTlsSessions()
  const open = new Set<(failure: DeliveryFailure) => void>()
  let isClosed = false

  const connect: buildConnector.connector = ({ hostname, port }, callback) => {
    if (isClosed) return callback(new DeliveryFailure('aborted'), null)
    const receiver = `${hostname}:${port}`
    // The present sessions: if all are forgotten during a handshake, the session it brings is discarded.
    const known = sessions
    let socket: Socket | undefined
    let settled = false
    // undici cannot abort a request without a connection, so connecting has a time-out of its own.
    const timer = setTimeout(() => end(new DeliveryFailure('timeout')), connectTimeoutMs)

    const end = (failure: DeliveryFailure) => {
      // Destroyed with the reason, which the request under way reports.
      socket?.destroy(failure)
      open.delete(end)
      if (settled) return
      settled = true
      clearTimeout(timer)
      // Whatever the failure was, the next handshake starts without a session.
      known.forget(receiver)
      callback(failure, null)
    }
    open.add(end)

    const dial = (addresses: readonly ResolvedAddress[]) => {
      if (settled) return
      const tcp = netConnect({
        host: hostname,
        port: Number(port) || 443,
        // Called only for names, and without a second lookup; literals are used as they are.
        lookup: (_host, _options, found) => found(null, [...addresses]),
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
      })
      socket = tcp
      tcp.on('error', (error) => end(connectFailure(error)))
      tcp.once('connect', () => {
        if (!tcp.remoteAddress || !guard.permits(tcp.remoteAddress)) {
          end(new DeliveryFailure('blocked_address'))
          return
        }
        socket = shakeHands(tcp)
      })
    }

    const shakeHands = (tcp: Socket): TLSSocket => {
      const session = known.of(receiver)
      const secure = tlsConnect({
        ...(session && { session }),
        socket: tcp,
        host: hostname,
        servername: serverName(hostname),
        secureContext,
        ALPNProtocols: ['http/1.1'],
        // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise disable it.
        rejectUnauthorized: true,
      })
      secure.on('session', (fresh: Buffer) => known.keep(receiver, fresh))
      secure.on('error', (error) => end(handshakeFailure(error, secure)))
      secure.once('close', () => {
        tcp.destroy()
        end(new DeliveryFailure('tls_failed'))
      })
      secure.once('secureConnect', () => {
        settled = true
        clearTimeout(timer)
        callback(null, secure)
      })
      return secure
    }

    resolveAddresses(hostname, guard, lookup).then(dial, end)
  }

  return {
    connect,
    forgetSessions: () => {
      sessions = createTlsSessions()
    },
    closeAll() {
      isClosed = true
      for (const end of open) end(new DeliveryFailure('aborted'))
    },
  }
}

/** The name for SNI and the certificate: none for an address (RFC 6066), and without the root's dot. */
function serverName(hostname: string): string {
  return isIP(hostname) ? '' : hostname.replace(/\.$/, '')
}
