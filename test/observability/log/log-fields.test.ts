import { expect, it } from 'vitest'
import { createLog, logFields } from '../../../src/observability/index.js'
import { logFieldNames } from '../../../src/observability/log/log-fields.js'

function logged(
  work: (log: ReturnType<typeof createLog>) => void,
  level?: 'debug',
): Record<string, unknown>[] {
  const lines: string[] = []
  work(createLog({ level, destination: { write: (line) => void lines.push(line) } }))
  return lines.map((line) => JSON.parse(line))
}

it('[O5, O3] a line is JSON with its time in UTC, its level, and who wrote it', () => {
  const [line] = logged((log) => log.warn({ saga_id: '7' }, 'lease expired'))
  expect(line).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'sagapost',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    pid: process.pid,
    hostname: expect.any(String),
    saga_id: '7',
    msg: 'lease expired',
  })
})

it('[O5] the level decides what is written; the default is info', () => {
  const work = (log: ReturnType<typeof createLog>) => {
    log.debug('small')
    log.info('big')
  }
  expect(logged(work).map(({ msg }) => msg)).toEqual(['big'])
  expect(logged(work, 'debug').map(({ msg }) => msg)).toEqual(['small', 'big'])
})

it('nothing confidential is written, wherever it occurs', () => {
  const hidden = 'do-not-show'
  const error = Object.assign(new Error('refused'), {
    code: 'E1',
    config: { headers: { Authorization: hidden }, connectionString: hidden },
  })
  const lines = logged((log) => {
    log.info(
      { secret: hidden, subscription: { id: '1', signingSecret: hidden, headers: { 'x-a': hidden } } },
      'one',
    )
    log.info({
      request: { Authorization: hidden, deeper: [{ apiKey: hidden }, { 'webhook-signature': hidden }] },
    })
    log.error({ err: error, masterKey: hidden, lease_token: hidden }, 'two')
    log.error(error)
    log.child({ job_id: '3' }).info({ password: hidden }, 'three')
  })
  expect(JSON.stringify(lines)).not.toContain(hidden)
  expect(lines[0]).toMatchObject({
    secret: '[redacted]',
    subscription: { id: '1', signingSecret: '[redacted]' },
  })
  expect(lines[2]).toMatchObject({
    err: { type: 'Error', message: 'refused', code: 'E1', stack: expect.any(String) },
  })
  expect(lines[4]).toMatchObject({ password: '[redacted]', job_id: '3', msg: 'three' })
})

it('[J11] logged objects are not modified', () => {
  const fields = { outer: { secret: 'mine' }, leased: new Date(0), none: null, password: null }
  const [line] = logged((log) => log.info(fields))
  expect(fields.outer.secret).toBe('mine')
  expect(line).toMatchObject({ leased: '1970-01-01T00:00:00.000Z', none: null, password: null })
})

it('[J11, O5] all parts use the same names, and every line of an event has a correlation id', () => {
  const fields = logFields({
    eventId: '1',
    webhookId: 'evt_1_a',
    sagaId: '2',
    jobId: '3',
    subscriptionId: '4',
    workerId: 'w',
    leaseExpiration: new Date(0),
    attempt: 5,
    errorCode: 'timeout',
    correlationId: 'checkout-7',
  })
  expect(Object.keys(fields)).toEqual(logFieldNames)
  expect(fields).toMatchObject({
    event_id: '1',
    correlation_id: 'checkout-7',
    error_code: 'timeout',
    attempt: 5,
  })
  expect(logFields({ eventId: '1', correlationId: null })).toEqual({ event_id: '1', correlation_id: 'evt_1' })
  expect(logFields({ subscriptionId: '4', errorCode: null })).toEqual({ subscription_id: '4' })
})
