import { Transform } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError, problem } from './problem.js'

/** Limit of the large bodies in flight per key: four batches of the maximum size. */
const BYTES_PER_KEY_MAX = 64 * 1024 * 1024
/** Smaller bodies are not counted: the number of connections bounds them, and nearly all bodies are small. */
const COUNTED_BYTES_MIN = 64 * 1024
const RETRY_AFTER_S = 1

/**
 * Refuses a body that would exceed the key's limit, before reading it. A body counts with its Content-Length from the
 * headers until the response; one without a length counts by the bytes received.
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
    // A body too large for the call is refused for its length.
    if (isSmall || bytes > request.routeOptions.bodyLimit) return done(null, body)
    // The client disconnected during the key lookup: no close event will follow to release its bytes.
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
        // Bytes after the response are not counted, as nothing would release them.
        if (isOver) return pass()
        if (!take(key, chunk.length)) return pass(tooMuchAtOnce())
        counted += chunk.length
        pass(null, chunk)
      },
    })
    // Also reads a body that was refused for another reason, whose rest is discarded.
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
