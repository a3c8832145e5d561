import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { outageOf } from '../../database/index.js'
import { type Snapshot, watchSystem } from '../../observability/index.js'
import type { Api, ApiOptions } from '../api.js'
import { refuse } from '../problem.js'
import { access } from '../require-scope.js'

/** Maximum viewers. Each costs a connection and its bytes, and an occasional check of its key in the database. */
const VIEWERS_MAX = 200
/** The interval for checking that the viewer's key is still valid. */
const RECHECK_MS = 5_000
/** Keep-alive interval: proxies close idle connections. */
const HEARTBEAT_MS = 15_000
/** The delay before a browser reconnects. */
const RETRY_MS = 3_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A stream lasts while its viewer is connected, so its duration is not measured. */
    isStream?: boolean
  }
}

/** Streams the current state to the dashboard's viewers as server-sent events. */
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
    // The viewer disconnected during the key lookup: no close event will follow to free its slot.
    if (response.destroyed) return
    response.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      // Keeps proxies from buffering the response.
      'x-accel-buffering': 'no',
    })
    response.write(`retry: ${RETRY_MS}\n\n`)
    const unfollow = watch.follow((snapshot) => send(response, snapshot))
    const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS)
    const recheck = setInterval(async () => {
      // An unreachable database does not invalidate the key.
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

  // Streams never end on their own, and the server waits for open requests.
  api.addHook('preClose', async () => {
    for (const close of closings) close()
    await watch.stop()
  })
}

/** Each snapshot is complete, so a slow viewer skips some; none are buffered. */
function send(response: ServerResponse, snapshot: Snapshot): void {
  if (!response.writableNeedDrain) response.write(`data: ${JSON.stringify(snapshot)}\n\n`)
}
