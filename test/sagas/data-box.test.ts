import { describe, expect, it } from 'vitest'
import { createDataBox, type DataPlace, DataUnreadableError, openBox } from '../../src/sagas/data-box.js'

// Sealed by the first code that sealed any. The key is for this test alone, and no secret.
const box = createDataBox(Buffer.alloc(32, 7))
const sagaId = '0198c0de-0000-7000-8000-000000000001'
const ofStep: DataPlace = { sagaId, column: 'result_data', stepIndex: 3 }
const ofSaga: DataPlace = { sagaId, column: 'initial_data' }
const sealedOfStep = '{"$sagapost_sealed":"ARvgt0HrKV5A64Xdx178o1vht2nM/eKF9RITrDdTGwColUhi+TZe/sO7BcQbhMB3"}'
const sealedOfSaga = '{"$sagapost_sealed":"ARvgt0Hv4VTlPdFPdfZZBSIs8g6v5XsJb4XJGEzI00J96Px1AmFjnJgrYG7g9ar9"}'

const refusal = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (error instanceof DataUnreadableError) return [error.code, error.message, error.forGood]
    throw error
  }
  throw new Error('it was opened')
}
const cannotBeOpened = (why: string, forGood: boolean) => [
  'saga_data_unreadable',
  `result_data of saga ${sagaId} cannot be opened: ${why}`,
  forGood,
]
/** The sealed bytes, changed. */
const changed = (change: (bytes: Buffer) => Buffer) => {
  const bytes = Buffer.from(JSON.parse(sealedOfStep).$sagapost_sealed, 'base64')
  return JSON.stringify({ $sagapost_sealed: change(bytes).toString('base64') })
}
const withByte = (at: number, value: number) => changed((bytes) => bytes.fill(value, at, at + 1))

describe('sagas’ data from an existing database', () => {
  it('[G15] still opens', () => {
    expect(box.open(sealedOfStep, ofStep)).toBe('{"card":"4242"}')
    expect(box.open(sealedOfSaga, ofSaga)).toBe('{"card":"4242"}')
  })

  it('[G15] opens in its own column only', () => {
    const elsewhere: DataPlace[] = [ofSaga, { ...ofStep, stepIndex: 4 }, { ...ofStep, sagaId: 'another' }]
    for (const place of elsewhere) {
      expect(refusal(() => box.open(sealedOfStep, place))[1]).toMatch(/it is damaged or belongs elsewhere$/)
    }
  })

  it('[G15] is read unchanged where it was written before there was a key', () => {
    expect([box, openBox].map(({ open }) => open('{"a":1}', ofStep))).toEqual(['{"a":1}', '{"a":1}'])
  })
})

describe('sealed data that does not open', () => {
  const other = createDataBox(Buffer.alloc(32, 8))

  it.each([
    ['another key', other, sealedOfStep, 'it was encrypted with another key', false],
    ['no key', openBox, sealedOfStep, 'it is encrypted, and no key is given', false],
    ['a later format', box, withByte(0, 2), 'its format 2 is unknown', false],
    ['a later format and no key', openBox, withByte(0, 2), 'its format 2 is unknown', false],
    ['a turned bit', box, withByte(20, 0), 'it is damaged or belongs elsewhere', true],
    ['bytes missing', box, changed((bytes) => bytes.subarray(0, 32)), 'it is damaged', true],
    ['bytes missing and no key', openBox, changed((bytes) => bytes.subarray(0, 32)), 'it is damaged', true],
    ['no text', box, '{"$sagapost_sealed":1}', 'it is damaged', true],
  ])('[G15] reports why, and whether another process can open it: %s', (_, by, json, why, forGood) => {
    expect(refusal(() => by.open(json, ofStep))).toEqual(cannotBeOpened(why, forGood))
  })
})
