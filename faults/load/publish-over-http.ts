import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, request } from 'undici'
import { sha256 } from '../../test/support/receiver-log.js'
import type { FaultSystem } from '../system/fault-system.js'
import { API_KEY } from '../system/process-environment.js'
import { type LoadTally, noteAnswer } from './load-tally.js'
import type { LoadEvent } from './make-event.js'

/** A client does not wait for a process that is stopped: it asks the other one, with the same key. */
const ANSWER_MS_MAX = 3_000
const AGAIN_MS = 100

interface Receipt {
  id?: string
  duplicate?: boolean
  error?: { code: string }
}

export interface HttpPublisher {
  system: FaultSystem
  agent: Agent
  tally: LoadTally
  signal: AbortSignal
}

/** Until every one of them is acknowledged with a 2xx, at whichever API answers. */
export async function publishOverHttp(publisher: HttpPublisher, events: readonly LoadEvent[]): Promise<void> {
  const { system, tally, signal } = publisher
  let open = [...events]
  for (let attempt = 0; open.length > 0 && !signal.aborted; attempt++) {
    const receipts = await post(publisher, open, attempt)
    if (receipts === undefined) await sleep(AGAIN_MS)
    else {
      if (receipts.length !== open.length)
        tally.wrong.push(`${receipts.length} answers to ${open.length} events`)
      open = open.filter((event, index) => !acknowledge(system, tally, event, receipts[index]))
    }
  }
}

/** True when it was acknowledged. */
function acknowledge(
  system: FaultSystem,
  tally: LoadTally,
  event: LoadEvent,
  receipt: Receipt | undefined,
): boolean {
  if (receipt?.id === undefined) {
    noteAnswer(tally, `item ${receipt?.error?.code}`)
    return false
  }
  const hash = sha256(event.payload)
  const known = system.keys.get(event.key)
  if (known !== undefined && known !== receipt.id) {
    tally.wrong.push(`the key ${event.key} was acknowledged as ${known} and as ${receipt.id}`)
  }
  system.keys.set(event.key, receipt.id)
  system.published.set(receipt.id, hash)
  return true
}

async function post(
  { system, agent, tally, signal }: HttpPublisher,
  events: readonly LoadEvent[],
  attempt: number,
): Promise<Receipt[] | undefined> {
  const url = system.apiUrls[(attempt + events.length) % system.apiUrls.length] as string
  const [only] = events
  const isSingle = events.length === 1 && only !== undefined
  try {
    const { statusCode, body } = await request(`${url}/v1/events${isSingle ? '' : '/batch'}`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: isSingle ? textOf(only) : `{"events":[${events.map(textOf).join()}]}`,
      headersTimeout: ANSWER_MS_MAX,
      bodyTimeout: ANSWER_MS_MAX,
      signal,
    })
    const answer = JSON.parse(await body.text())
    noteAnswer(tally, statusCode === 202 ? '202' : `${statusCode} ${answer.code}`)
    if (statusCode !== 202) return undefined
    return isSingle ? [answer] : answer.results
  } catch {
    noteAnswer(tally, 'no answer')
    return undefined
  }
}

const textOf = ({ type, payload, key }: LoadEvent) =>
  `{"type":"${type}","idempotencyKey":"${key}","payload":${payload}}`
