import { Transform } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError, problem } from './problem.js'

/** What the large bodies of one key may hold at once: four batches of the largest size. */
const BYTES_PER_KEY_MAX = 64 * 1024 * 1024
/** Smaller ones are not counted: their connections bound them, and they are nearly all. */
const COUNTED_BYTES_MIN = 64 * 1024
const RETRY_AFTER_S = 1

/**
 * Refuses what would take a key over its bytes, before a byte of it is read. A body counts with its whole length from its
 * head until its answer; one that does not tell its length counts by what has come.
 */
export function limitBytesInFlight(api: FastifyInstance, bytesMax = BYTES_PER_KEY_MAX): void {
  const bytesOf = new Map<string, number>()

  const take = (key: string, bytes: number): boolean => {
    const taken = bytesOf.get(key) ?? 0
    if (taken + bytes > bytesMax) return false
    bytesOf.set(key, taken + bytes)
    return true
  }
  const giveBack = (key: string, bytes: number) => {
    const left = (bytesOf.get(key) ?? 0) - bytes
    if (left > 0) bytesOf.set(key, left)
    else bytesOf.delete(key)
  }

  api.addHook('preParsing', (request, reply, body, done) => {
    const key = keyOf(request)
    const { 'content-length': length } = request.headers
    const bytes = Number(length ?? 0)
    const isSmall = length !== undefined && bytes < COUNTED_BYTES_MIN
    // A body that is too large for the call is refused for that, by its length.
    if (isSmall || bytes > request.routeOptions.bodyLimit) return done(null, body)
    // Its client went while its key was looked up: nothing more comes, and no close that would give its bytes back.
    if (reply.raw.destroyed) return done(null, body)
    if (!take(key, bytes)) return done(tooMuchAtOnce())
    let counted = bytes
    let isOver = false
    reply.raw.once('close', () => {
      isOver = true
      giveBack(key, counted)
    })
    if (length !== undefined) return done(null, body)

    const counting = new Transform({
      transform(chunk: Buffer, _encoding, pass) {
        // Behind its answer nobody wants the rest, and nobody would give it back.
        if (isOver) return pass()
        if (!take(key, chunk.length)) return pass(tooMuchAtOnce())
        counted += chunk.length
        pass(null, chunk)
      },
    })
    // Also where nobody else listens any more, since the body was refused for another reason: its rest is dropped.
    counting.on('error', () => body.resume())
    done(null, body.pipe(counting))
  })
}

function keyOf({ caller }: FastifyRequest): string {
  return caller?.keyId ?? 'administrator'
}

function tooMuchAtOnce(): ProblemError {
  return new ProblemError(
    problem('too_much_at_once', 'the request bodies in flight for this API key are too large in total'),
    { 'retry-after': String(RETRY_AFTER_S) },
  )
}
