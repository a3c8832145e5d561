import { isIP, connect as netConnect, type Socket } from 'node:net'
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { buildConnector } from 'undici'
import { connectFailure, handshakeFailure } from './classify-failure.js'
import { DeliveryFailure } from './delivery-errors.js'
import type { ResolvedAddress } from './dns/index.js'
import type { AddressGuard } from './guard-addresses.js'
import { type Lookup, resolveAddresses } from './resolve-addresses.js'
import { createTlsSessions } from './tls-sessions.js'

/** How long one address of several is tried before the next. */
const ATTEMPT_TIMEOUT_MS = 500

/** After this long without a byte the kernel asks whether the other side is still there. */
const KEEP_ALIVE_PROBE_MS = 60_000

export interface SecureConnector {
  connect: buildConnector.connector
  /** From now on every receiver shows its certificate again. */
  forgetSessions(): void
  /** Ends every connection, those that are still being made included, and makes no more. */
  closeAll(): void
}

/**
 * Makes undici's connections, so that the address that was checked is the address that is dialled: (1) and (2)
 * literals and looked-up addresses before anything is sent, (3) the peer of the connected socket before the
 * first byte, the TLS handshake's included.
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
    // Those of now: what a handshake that is under way brings is no news when all are forgotten meanwhile.
    const known = sessions
    let socket: Socket | undefined
    let settled = false
    // undici cannot abort a request that has no connection yet, so an attempt to connect ends by itself.
    const timer = setTimeout(() => end(new DeliveryFailure('timeout')), connectTimeoutMs)

    const end = (failure: DeliveryFailure) => {
      // With the reason: whatever is under way on it ends for that.
      socket?.destroy(failure)
      open.delete(end)
      if (settled) return
      settled = true
      clearTimeout(timer)
      // Whatever it was: the next one begins without a session.
      known.forget(receiver)
      callback(failure, null)
    }
    open.add(end)

    const dial = (addresses: readonly ResolvedAddress[]) => {
      if (settled) return
      const tcp = netConnect({
        host: hostname,
        port: Number(port) || 443,
        // Only for names, and never a second lookup: literals are dialled as they stand.
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
        // Said outright, or NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
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
