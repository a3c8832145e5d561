import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { outageOf } from '../../database/index.js'
import { type Snapshot, watchSystem } from '../../observability/index.js'
import type { Api, ApiOptions } from '../api.js'
import { refuse } from '../problem.js'
import { access } from '../require-scope.js'

/** Each costs a connection and its bytes; of the database, no more than asking now and then whether its key still counts. */
const VIEWERS_MAX = 200
/** How often it is asked whether the viewer's key still counts. */
const RECHECK_MS = 5_000
/** A proxy that hears nothing for long closes the connection. */
const HEARTBEAT_MS = 15_000
/** How long a browser waits before it comes back. */
const RETRY_MS = 3_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers last as long as somebody watches: their duration says nothing. */
    isStream?: boolean
  }
}

/** What happens now, as server-sent events, for everybody who looks at the dashboard. */
export function addLiveRoutes(api: Api, { pools, log }: ApiOptions): void {
  const watch = watchSystem(pools.reads, {
    onError: (error) =>
      log[outageOf(error) ? 'debug' : 'warn'](
        { err: error },
        'reading the system state for the dashboard failed; will retry',
      ),
  })
  const closings = new Set<() => void>()

  const options = {
    config: { access: access.read, refusals: ['overloaded'], isStream: true },
    schema: {
      operationId: 'watchSystem',
      summary: 'Stream the current state of the system every two seconds',
      description:
        'Server-sent events, each with a snapshot as JSON: rates, percentiles, backlogs and what needs attention. ' +
        'The format belongs to the dashboard and may change with it; programs should use `/metrics` and ' +
        '`/v1/statistics` stay as they are.',
      tags: ['operation'],
      response: {
        200: { description: 'the stream', content: { 'text/event-stream': { schema: z.string() } } },
      },
    },
    exposeHeadRoute: false,
  } as const
  api.get('/v1/live', options, async (request, reply) => {
    if (closings.size >= VIEWERS_MAX) throw refuse('overloaded', `${VIEWERS_MAX} others are watching already`)
    reply.hijack()
    const response = reply.raw
    // The viewer went while its key was looked up: no close comes that would free its place.
    if (response.destroyed) return
    response.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      // Some proxies would gather the answer before they pass it on.
      'x-accel-buffering': 'no',
    })
    response.write(`retry: ${RETRY_MS}\n\n`)
    const unfollow = watch.follow((snapshot) => send(response, snapshot))
    const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS)
    const recheck = setInterval(async () => {
      // A database that is away says nothing about the key.
      if (!(await request.isStillAllowed().catch(() => true))) close()
    }, RECHECK_MS)
    const close = () => {
      closings.delete(close)
      unfollow()
      clearInterval(heartbeat)
      clearInterval(recheck)
      response.end()
    }
    closings.add(close)
    response.on('close', close)
    response.on('error', close)
  })

  // Streams never end by themselves, and the server waits for what is under way.
  api.addHook('preClose', async () => {
    for (const close of closings) close()
    await watch.stop()
  })
}

/** A snapshot is whole: whoever reads slowly misses some, and none is kept for them. */
function send(response: ServerResponse, snapshot: Snapshot): void {
  if (!response.writableNeedDrain) response.write(`data: ${JSON.stringify(snapshot)}\n\n`)
}
