import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator, Caller, Scope } from '../keys/index.js'
import { createBadKeyLimit } from './limit-bad-keys.js'
import { ProblemError, problem, refuse } from './problem.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which keys may call it; every route says so. */
    access?: 'keyless' | readonly Scope[]
  }
  interface FastifyRequest {
    /** Whose key it carries; null on keyless calls. */
    caller: Caller | null
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
  settleSagas: ['operator', 'admin'],
  signal: ['ingest', 'operator', 'admin'],
} as const satisfies Record<string, readonly Scope[]>

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i
const CHALLENGE = { 'www-authenticate': 'Bearer realm="sagapost"' }

/** Checks the key before a byte of the body is read. */
export function createScopeCheck(authenticator: Authenticator) {
  const limit = createBadKeyLimit()

  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const { access: allowed } = request.routeOptions.config
    if (allowed === undefined || allowed === 'keyless') return
    const header = request.headers.authorization
    if (header === undefined) {
      throw new ProblemError(
        problem('unauthenticated', 'send the API key as Authorization: Bearer <key>'),
        CHALLENGE,
      )
    }
    const key = BEARER.exec(header)?.[1]
    const tooMany = limit.isOver(request.ip)
    const caller = key === undefined ? null : await authenticator.authenticate(key, { mayAsk: !tooMany })
    if (caller === null) throw tooMany ? tooManyBadKeys(request.ip) : badKey(request.ip)
    if (!allowed.includes(caller.scope)) {
      throw refuse(
        'forbidden',
        `a key of scope ${caller.scope} may not call this; it needs ${allowed.join(' or ')}`,
      )
    }
    request.caller = caller
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
