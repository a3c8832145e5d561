import type { FastifyRequest } from 'fastify'
import { type Authenticator, type Caller, type Scope, scopes } from '../api-keys/index.js'
import { createBadKeyLimit } from './bad-key-limit.js'
import { ProblemError, problem, refuse } from './problem.js'
import type { Sessions } from './sessions.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scopes allowed to call the route; required for every route. */
    access?: 'keyless' | readonly Scope[]
  }
  interface FastifyRequest {
    /** The caller's key; null for calls without a key. */
    caller: Caller | null
    /** Whether the key may still call this route, for streams. */
    isStillAllowed: () => Promise<boolean>
  }
}

/** An administrator's key may call everything. */
export const access = {
  publish: ['ingest', 'admin'],
  read: ['read', 'operator', 'admin'],
  readSubscriptions: ['read', 'operator', 'subscriptions', 'admin'],
  changeSubscriptions: ['subscriptions', 'admin'],
  trySubscriptions: ['subscriptions', 'operator', 'admin'],
  requeue: ['operator', 'admin'],
  cancelDeliveries: ['operator', 'admin'],
  settleSagas: ['operator', 'admin'],
  signal: ['ingest', 'operator', 'admin'],
  signIn: scopes,
} as const satisfies Record<string, readonly Scope[]>

/**
 * The header that requests with a session must carry to change anything. Without a CORS response, no other origin can
 * make a browser send it.
 */
const PAGE_HEADER = 'sagapost-page'
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i
const CHALLENGE = { 'www-authenticate': 'Bearer realm="sagapost"' }

/**
 * Checks the key of the request or its session before the body is read. Returns a promise only when the database must be
 * queried.
 */
export function createScopeCheck(
  authenticator: Authenticator,
  sessions?: Pick<Sessions, 'read' | 'isEnded'>,
) {
  const limit = createBadKeyLimit()

  return (request: FastifyRequest): void | Promise<void> => {
    const { access: allowed, isStream } = request.routeOptions.config
    if (allowed === undefined || allowed === 'keyless') return
    const header = request.headers.authorization
    const session = header === undefined ? sessions?.read(request) : undefined
    if (header === undefined && session === undefined) {
      throw new ProblemError(
        problem('unauthenticated', 'send the API key as Authorization: Bearer <key>'),
        CHALLENGE,
      )
    }
    if (session !== undefined) refuseForeign(request)
    const key = session?.key ?? BEARER.exec(header ?? '')?.[1]
    const isEnded = async () => session !== undefined && (await sessions?.isEnded(session)) === true
    const admit = (caller: Caller | null): void => {
      if (caller === null) throw limit.isOver(request.ip) ? tooManyBadKeys(request.ip) : badKey(request.ip)
      if (!allowed.includes(caller.scope)) {
        throw refuse(
          'forbidden',
          `a key of scope ${caller.scope} may not call this; it needs ${allowed.join(' or ')}`,
        )
      }
      request.caller = caller
    }
    if (key !== undefined && isStream) {
      request.isStillAllowed = async () => {
        const now = await authenticator.authenticate(key)
        return now !== null && allowed.includes(now.scope) && !(await isEnded())
      }
    }
    const caller = key === undefined ? null : authenticator.authenticate(key)
    if (session !== undefined) {
      return Promise.all([caller, isEnded()]).then(([found, ended]) => {
        if (ended) throw refuse('unauthenticated', 'this session was signed out; sign in again')
        admit(found)
      })
    }
    return caller instanceof Promise ? caller.then(admit) : admit(caller)
  }

  /** Browsers send the session cookie for any page, so changes must come from the dashboard itself. */
  function refuseForeign({ method, headers }: FastifyRequest): void {
    if (safeMethods.has(method)) return
    const site = headers['sec-fetch-site']
    if (headers[PAGE_HEADER] === '1' && (site === undefined || site === 'same-origin')) return
    throw refuse('forbidden', `with a session, this must come from the dashboard itself (${PAGE_HEADER}: 1)`)
  }

  function badKey(address: string): ProblemError {
    limit.count(address)
    return new ProblemError(problem('unauthenticated', 'the API key is not known, or was revoked'), {
      'www-authenticate': `${CHALLENGE['www-authenticate']}, error="invalid_token"`,
    })
  }

  function tooManyBadKeys(address: string): ProblemError {
    return new ProblemError(problem('too_many_bad_keys', 'too many bad API keys came from this address'), {
      'retry-after': String(limit.retryAfterS(address)),
    })
  }
}
