import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { API_KEY } from '../system/process-environment.js'
import { noteAnswer } from './load-tally.js'
import type { HttpPublisher } from './publish-over-http.js'

const ANSWER_MS_MAX = 5_000
const AGAIN_MS = 200

/** All dead letters there are, as an operator asks for it: by a saga, under a key. Resolves when it was accepted. */
export async function requeueDeadLetters(
  { system, agent, tally, signal }: HttpPublisher,
  key: string,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const url = system.apiUrls[attempt % system.apiUrls.length] as string
    try {
      const { statusCode, body } = await request(`${url}/v1/dead-letters/requeue`, {
        method: 'POST',
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${API_KEY}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: '{"filter":{"all":true}}',
        headersTimeout: ANSWER_MS_MAX,
        bodyTimeout: ANSWER_MS_MAX,
        signal,
      })
      const answer = JSON.parse(await body.text())
      noteAnswer(tally, statusCode === 202 ? '202' : `${statusCode} ${answer.code}`)
      if (statusCode === 202) return
    } catch {
      noteAnswer(tally, 'no answer')
    }
    await sleep(AGAIN_MS)
  }
}
