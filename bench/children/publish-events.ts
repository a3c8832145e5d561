/** A publisher outside of Sagapost's processes: in batches by SQL, or over HTTP. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { Agent } from 'undici'
import { createRolePool } from '../../src/database/index.js'
import { storeEvents } from '../../src/delivery/index.js'
import { floodPosts } from '../harness/flood-posts.js'
import { makeBody } from '../harness/make-body.js'
import { dispatchPost } from '../harness/post-body.js'
import { clockMs } from '../harness/read-clock.js'
import { API_KEY } from '../harness/sagapost-environment.js'
import { answerCommands } from '../harness/talk-to-parent.js'

const CONNECTIONS_MAX = 256
const agent = new Agent({ connections: CONNECTIONS_MAX })
const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
let ingest: pg.Pool | undefined

const commands = {
  enqueue: async (databaseUrl: string, count: number, batch: number, types: readonly string[]) => {
    ingest ??= createRolePool({ databaseUrl, role: 'event_ingest_writer', connectionsMax: 1 })
    for (let first = 0; first < count; first += batch) {
      const events = Array.from({ length: Math.min(batch, count - first) }, (_, index) => ({
        type: types[(first + index) % types.length] as string,
        payload: makeBody(first + index),
      }))
      const outcomes = await storeEvents(ingest, events)
      if (outcomes.some((outcome) => 'refusal' in outcome)) throw new Error('an event was refused')
    }
  },
  /**
   * Posts single events at random times (a Poisson process, so that no loop's period is met) and returns when each was
   * acknowledged: pairs of a sequence number and a time.
   */
  postAtRate: async (url: string, perSecond: number, count: number, types: readonly string[]) => {
    const acknowledged: [number, number][] = []
    const posts: Promise<void>[] = []
    let dueMs = clockMs()
    for (let sequence = 0; sequence < count; sequence++) {
      dueMs += (-Math.log(1 - Math.random()) * 1000) / perSecond
      const waitMs = dueMs - clockMs()
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      posts.push(
        post(`${url}/v1/events`, eventText(types[sequence % types.length] as string, sequence)).then(() => {
          acknowledged.push([sequence, clockMs()])
        }),
      )
    }
    await Promise.all(posts)
    return acknowledged
  },
  /** Posts batches of the given size over the given connections; returns the time it took. */
  flood: async (
    url: string,
    posts: number,
    connections: number,
    batch: number | 'single',
    type: string,
    keyed = false,
  ) => {
    const keys = keyed ? randomUUID() : undefined
    const startedAt = clockMs()
    await floodPosts({
      url: batch === 'single' ? `${url}/v1/events` : `${url}/v1/events/batch`,
      headers,
      posts,
      connections,
      bodyOf(index) {
        if (batch === 'single') return eventText(type, index, keys)
        const events = Array.from({ length: batch }, (_, item) => eventText(type, index * batch + item, keys))
        return `{"events":[${events.join()}]}`
      },
      isAccepted,
    })
    return clockMs() - startedAt
  },
  stop: async () => {
    await ingest?.end()
    await agent.destroy()
  },
}
export type PublisherCommands = typeof commands
answerCommands(commands)

function eventText(type: string, sequence: number, keys?: string): string {
  const key = keys === undefined ? '' : `,"idempotencyKey":"${keys}-${sequence}"`
  return `{"type":"${type}","payload":${makeBody(sequence)}${key}}`
}

const isAccepted = (status: number, answer: string) =>
  status === 202 && !answer.includes('"error":') && !answer.includes('"duplicate":true')

function post(url: string, body: string): Promise<void> {
  const { origin, pathname } = new URL(url)
  return dispatchPost(agent, { origin, pathname, headers, body }, isAccepted)
}
