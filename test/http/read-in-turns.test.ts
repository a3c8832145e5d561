import { describe, expect, it } from 'vitest'
import { readEvent, readEventBatch } from '../../src/http/read-events.js'
import { inTurns } from '../../src/http/read-in-turns.js'

const BYTES = 16 * 1024 * 1024
const bodies: Record<string, string> = {
  numbers: `{"events":[${'1,'.repeat(BYTES / 2)}1]}`,
  lists: `{"events":[${'[[[[]]]],'.repeat(BYTES / 9)}[]]}`,
  names: `{"events":1,${'"a":1,'.repeat(BYTES / 6)}"a":1}`,
  'one string': `{"events":["${'x'.repeat(BYTES)}"]}`,
  'one string of escapes': `{"events":["${'\\u0000'.repeat(BYTES / 6)}"]}`,
  'one name': `{"${'x'.repeat(BYTES)}":1}`,
  'a batch of events': `{"events":[${Array(16).fill(`{"type":"t","payload":[${'1,'.repeat(500_000)}1]}`)}]}`,
}

describe('a large body', () => {
  it.each(Object.keys(bodies))('[E1] of %s is read in turns with other work', async (what) => {
    let others = 0
    let isRead = false
    const countOthers = () => {
      others += 1
      if (!isRead) setImmediate(countOthers)
    }
    setImmediate(countOthers)
    const read = async () => inTurns(readEventBatch(bodies[what] as string, {}))
    await read().catch(() => undefined)
    isRead = true
    expect(others).toBeGreaterThan(1)
  })

  it('[E1] waits while another large body has its turn, and loses nothing by it', async () => {
    const event = (payload: string) => `{"type":"t","payload":${payload}}`
    const payloads = ['1', '"é"', '{"a":1}'].map((value) => `[${`${value},`.repeat(100_000)}0]`)
    const read = await Promise.all(payloads.map((payload) => inTurns(readEvent(event(payload), {}))))
    expect(read).toEqual(payloads.map((payload) => ({ type: 't', payload })))
  })

  it('[E1] is refused at its 20,001st level, not at its end', () => {
    expect(() => inTurns(readEventBatch('['.repeat(BYTES), {}))).toThrow('nested deeper than 20000 levels')
  })
})

it('[E1] a small body is read at once', () => {
  expect(inTurns(readEvent('{"type":"t","payload":1}', {}))).toEqual({ type: 't', payload: '1' })
})
