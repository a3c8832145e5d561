import { Agent } from 'undici'
import { connectionSettings } from '../../src/webhook/webhook-sender.js'

export interface Poster {
  /** Resolves when the response has arrived whole; rejects unless it is 2xx. */
  post(body: string): Promise<void>
  close(): Promise<void>
}

/**
 * undici with the settings of Sagapost's own client, by its leanest interface. Whoever is compared with Sagapost
 * posts through this, and so does the bare limit. No signature is made.
 */
export function createPoster({ url, authority }: { url: string; authority: string }): Poster {
  const { origin, pathname } = new URL(url)
  const agent = new Agent({ ...connectionSettings, connect: { ca: authority }, connections: null })
  const headers = { 'content-type': 'application/json', 'user-agent': 'bench' }
  return {
    post: (body) =>
      dispatchPost(agent, { origin, pathname, headers, body }, (status) => status >= 200 && status < 300),
    close: () => agent.destroy(),
  }
}

interface Post {
  origin: string
  pathname: string
  headers: Record<string, string>
  body: string
}

/** By undici's leanest interface, since it runs on the cores that the measured need. */
export function dispatchPost(
  agent: Agent,
  { origin, pathname, headers, body }: Post,
  isAccepted: (status: number, answer: string) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let status = 0
    let answer = ''
    agent.dispatch(
      { origin, path: pathname, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_, received) {
          status = received
        },
        onResponseData(_, chunk) {
          answer += chunk.toString()
        },
        onResponseEnd() {
          if (isAccepted(status, answer)) resolve()
          else reject(new Error(`answered with ${status}: ${answer.slice(0, 500)}`))
        },
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

/** Does `work` for 0 … count − 1, at most `concurrency` at once. */
export async function inFlight(
  count: number,
  concurrency: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const run = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, run))
}
