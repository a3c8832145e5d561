import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { EndedSessions } from '../api-keys/index.js'
import { createSealer } from '../sealer.js'

const COOKIE = 'sagapost_session'
/** Then the key is asked for again. */
const SESSION_MS = 12 * 3_600_000
/** What it is sealed for. */
const PLACE = 'dashboard session'
/** What a cookie can be at most: 500 characters of a key, and what is around them. */
const COOKIE_CHARACTERS_MAX = 1_000
const ID_BYTES = 16

interface Session {
  id: Buffer
  key: string
  expiresAt: Date
}

export interface Sessions {
  /** A Set-Cookie for whoever has shown this key. */
  begin(key: string, request: FastifyRequest): string
  /** A Set-Cookie that takes the cookie back. */
  clear(request: FastifyRequest): string
  /** The request's session; undefined: it has none, or one that was changed or has expired. It may have been ended. */
  read(request: FastifyRequest): Session | undefined
  /** Ends it for all servers: a copy of its cookie is refused from now on. */
  end(session: Session): Promise<void>
  isEnded(session: Session): Promise<boolean>
}

/**
 * Sessions of the dashboard: the API key in a cookie that no script can read and no other site can send, sealed, because
 * a browser shows its cookies to every port of the same host. Only those that were signed out are stored: any server with
 * the same master key opens it, and a key that is revoked ends all of its sessions.
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

/** Secure where the page came by HTTPS: the browser says so, whatever proxy has taken the HTTPS off. */
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
