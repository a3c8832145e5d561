import { getServers } from 'node:dns'
import { type Answer, type Asked, askServer, lookupError, noAddress, saysNoAddress } from './ask-server.js'
import { listCandidates } from './list-candidates.js'
import type { ResolvConf } from './parse-resolv-conf.js'

/** A server that must query others needs time: fewer tries are better than shorter ones. */
const TRY_MS_MIN = 1_000

export interface Lookup {
  answer: Promise<Answer>
  cancel(): void
}

/**
 * Looks a name up by the rules of resolv.conf(5), within `timeoutMs` for all servers, attempts and domains together. A
 * server that does not answer or that fails is followed by the next; Node omits this for SERVFAIL and REFUSED.
 */
export function startLookup(name: string, conf: ResolvConf, timeoutMs: number): Lookup {
  const servers = conf.servers.length > 0 ? conf.servers : getServers()
  const tries = Array.from({ length: conf.attempts }, () => servers).flat()
  const tryMs = Math.min(
    conf.timeoutMs,
    Math.max(timeoutMs / tries.length, Math.min(TRY_MS_MIN, timeoutMs / servers.length)),
  )
  let asked: Asked | undefined
  let end: Error | undefined

  const cancel = (error: Error) => {
    end ??= error
    asked?.cancel()
  }
  const timer = setTimeout(
    () => cancel(lookupError('ETIMEOUT', `no name server has answered for ${name}`)),
    timeoutMs,
  )

  async function askServers(candidate: string): Promise<Answer> {
    let failure: unknown
    for (const server of tries) {
      if (end) throw end
      asked = askServer(server, candidate, tryMs)
      try {
        return await asked.answer
      } catch (error) {
        if (saysNoAddress(error)) throw error
        failure = error
      }
    }
    throw end ?? failure
  }

  async function search(): Promise<Answer> {
    let failure: unknown
    for (const candidate of listCandidates(name, conf)) {
      try {
        return await askServers(candidate)
      } catch (error) {
        if (saysNoAddress(error)) continue
        // As in the C library, a failing domain does not end the search; a time-out does.
        if ((error as NodeJS.ErrnoException).code !== 'ESERVFAIL') throw error
        failure = error
      }
    }
    throw failure ?? noAddress(name)
  }

  return {
    answer: search().finally(() => clearTimeout(timer)),
    cancel: () => cancel(lookupError('ECANCELLED', 'the look-up was given up')),
  }
}
