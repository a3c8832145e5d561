import { timingSafeEqual } from 'node:crypto'
import type pg from 'pg'
import { KEY_PREFIX } from './create-key.js'
import { type FoundKey, findKeys, gatherQuestions } from './gather-questions.js'
import { hashKey } from './hash-key.js'
import { createKeyUseNotes } from './key-use-notes.js'
import type { Scope } from './scope.js'

/** How long a valid key is cached: a revocation takes effect after this time at the latest. */
const BELIEVED_MS = 3_000
const CACHED_KEYS_MAX = 10_000
const KEY_CHARACTERS_MAX = 500

export interface Caller {
  /** Null for the administrator's key from the environment. */
  keyId: string | null
  scope: Scope
}

export interface Authenticator {
  /**
   * The caller the key belongs to, or null. Returns a promise only when the database has to be asked: nearly every
   * request carries a cached key and is answered at once.
   */
  authenticate(key: string): Caller | null | Promise<Caller | null>
  /** Waits until pending writes about the use of keys have finished. */
  close(): Promise<void>
}

const administratorCaller: Caller = Object.freeze({ keyId: null, scope: 'admin' })

interface Known {
  caller: Caller | Promise<Caller | null>
  believedUntil: number
}

type Keys = Map<string, Known>

function keep(keys: Keys, name: string, entry: Known): void {
  keys.delete(name)
  if (keys.size >= CACHED_KEYS_MAX) keys.delete(keys.keys().next().value as string)
  keys.set(name, entry)
}

export interface AuthenticatorOptions {
  /** Under the role api_key_admin. */
  pool: pg.Pool
  /** SAGAPOST_API_KEY: an administrator's key that needs no database. */
  apiKey: string | undefined
  now?: () => number
}

/**
 * Finds the owner of a request's key. Keys are compared by their hashes in constant time, so timing does not reveal how
 * far a wrong key matches. Valid keys are cached for seconds, invalid ones never.
 */
export function createAuthenticator({ pool, apiKey, now = Date.now }: AuthenticatorOptions): Authenticator {
  const administrator = apiKey === undefined ? undefined : hashKey(apiKey)
  const known: Keys = new Map()
  /** Keys being looked up that were never valid here. Kept apart, so that a flood of them evicts no valid key. */
  const unknown: Keys = new Map()
  const uses = createKeyUseNotes(pool, now)

  const askInTurn = gatherQuestions(pool)

  // A key that was valid a moment ago does not wait for other keys' look-ups.
  const askAtOnce = async (hash: Buffer): Promise<FoundKey | undefined> => (await findKeys(pool, [hash]))[0]

  const lookUp = (hash: Buffer): Caller | null | Promise<Caller | null> => {
    const name = hash.toString('base64')
    const cached = known.get(name)
    const wasGood = cached !== undefined
    const shared = cached ?? unknown.get(name)
    if (shared && (!wasGood || shared.believedUntil > now())) return shared.caller
    // One look-up at a time per key; other requests with the key wait for the same answer.
    const asking = (wasGood ? askAtOnce(hash) : askInTurn(hash)).then(
      (found) => {
        forget(unknown)
        const answer =
          found && timingSafeEqual(found.key_hash, hash) ? { keyId: found.id, scope: found.scope } : null
        if (answer === null) forget(known)
        else {
          entry.caller = answer
          if (!wasGood) keep(known, name, entry)
        }
        return answer
      },
      (error: unknown) => {
        forget(unknown)
        forget(known)
        throw error
      },
    )
    const entry: Known = { caller: asking, believedUntil: now() + BELIEVED_MS }
    // Unless another request has asked again meanwhile: its answer is newer.
    const forget = (keys: Keys) => keys.get(name) === entry && keys.delete(name)
    keep(wasGood ? known : unknown, name, entry)
    return asking
  }

  const noteUse = (caller: Caller | null): Caller | null => {
    if (caller?.keyId) uses.note(caller.keyId)
    return caller
  }

  return {
    authenticate(key) {
      if (key.length > KEY_CHARACTERS_MAX) return null
      const hash = hashKey(key)
      if (administrator && timingSafeEqual(hash, administrator)) return administratorCaller
      if (!key.startsWith(KEY_PREFIX)) return null
      const caller = lookUp(hash)
      return caller instanceof Promise ? caller.then(noteUse) : noteUse(caller)
    },
    close: () => uses.settled(),
  }
}
