import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { EndedSessions } from '../api-keys/index.js'
import { createSealer } from '../sealer.js'

const COOKIE = 'sagapost_session'
/** The lifetime of a session. */
const SESSION_MS = 12 * 3_600_000
/** The encryption context of the cookie. */
const PLACE = 'dashboard session'
/** The maximum size of a cookie: a key of 500 characters and its envelope. */
const COOKIE_CHARACTERS_MAX = 1_000
const ID_BYTES = 16

interface Session {
  id: Buffer
  key: string
  expiresAt: Date
}

export interface Sessions {
  /** The Set-Cookie header for a caller with this key. */
  begin(key: string, request: FastifyRequest): string
  /** The Set-Cookie header that removes the cookie. */
  clear(request: FastifyRequest): string
  /** The request's session; undefined when absent, tampered with or expired. It may have been signed out. */
  read(request: FastifyRequest): Session | undefined
  /** Ends the session on all servers, so that a copy of its cookie is refused. */
  end(session: Session): Promise<void>
  isEnded(session: Session): Promise<boolean>
}

/**
 * Dashboard sessions: the API key in an HttpOnly, SameSite cookie, encrypted because browsers send cookies to every port of
 * a host. Only signed-out sessions are stored: any server with the same master key can decrypt the cookie, and revoking
 * the key ends its sessions.
 */
export function createSessions(
  masterKey: Buffer,
  ended: EndedSessions,
  now: () => number = Date.now,
): Sessions {
  const sessionKey = createHmac('sha256', masterKey).update('sagapost dashboard sessions').digest()
  const sealer = createSealer(sessionKey, 'sagapost session key id')

  return {
    begin(key, request) {
      const text = JSON.stringify([now() + SESSION_MS, key, randomBytes(ID_BYTES).toString('base64')])
      const sealed = sealer.seal(Buffer.from(text), PLACE)
      return cookie(sealed.toString('base64url'), SESSION_MS / 1000, request)
    },
    clear: (request) => cookie('', 0, request),
    read(request) {
      const value = readCookie(request.headers.cookie)
      if (value === undefined || value.length > COOKIE_CHARACTERS_MAX) return undefined
      const opened = sealer.open(Buffer.from(value, 'base64url'), PLACE)
      if (!('plain' in opened)) return undefined
      const [endsAt, key, id] = JSON.parse(opened.plain.toString()) as [number, string, string?]
      if (id === undefined || endsAt <= now()) return undefined
      return { id: Buffer.from(id, 'base64'), key, expiresAt: new Date(endsAt) }
    },
    end: (session) => ended.end(session),
    isEnded: ({ id }) => ended.isEnded(id),
  }
}

/** Secure when the page was loaded over HTTPS, as the browser reports, even behind a proxy that terminates TLS. */
function cookie(value: string, maxAgeS: number, { headers }: FastifyRequest): string {
  const secure = headers.origin?.startsWith('https://') ? '; Secure' : ''
  return `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`
}

function readCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === COOKIE) return value?.trim()
  }
  return undefined
}
