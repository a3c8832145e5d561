import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildOpenApi } from '../../scripts/build-openapi.js'
import { databaseRoles } from '../../src/database/roles.js'
import type { HttpServer } from '../../src/http/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { useDatabase } from '../support/database.js'
import { type Answer, adminKey, type CallOptions, call, startTestApi, testConfig } from './api-server.js'
import { cases, plainBodies, plainQueries } from './contract-cases.js'
import { type Operation, readContract } from './contract-document.js'
import { makeWorld, type World } from './contract-world.js'
import { withholdBody } from './withhold-body.js'

const contract = readContract(await buildOpenApi())
const keyed = contract.operations.filter(({ isKeyless }) => !isKeyless)
const named = (operations: Operation[]) =>
  operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const)

const database = useDatabase()
const notMigrated = useDatabase({ migrated: false })
const withoutRights = useDatabase()
const withoutPartitions = useDatabase()
const NOBODY = 'postgres://nobody@127.0.0.1:1/nothing'

let world: World
/** Servers on which calls are answered with this code. */
const servers: Record<string, HttpServer> = {}

beforeAll(async () => {
  world = await makeWorld(database)
  await withoutRights.pool.query(`REVOKE USAGE ON SCHEMA sagapost FROM ${databaseRoles.join(', ')}`)
  await withoutPartitions.pool.query(`SELECT setval('sagapost.events_id_seq', 900000000000)`)
  for (const [code, url] of [
    ['database_unreachable', NOBODY],
    ['schema_outdated', notMigrated.url],
    ['permission_denied', withoutRights.url],
    ['partition_missing', withoutPartitions.url],
    ['too_many_bad_keys', database.url],
    ['overloaded', database.url],
    ['too_much_at_once', database.url],
    ['idempotency_key_required', database.url],
  ] as const) {
    const config = { ...testConfig, requireIdempotencyKey: code === 'idempotency_key_required' }
    servers[code] = await startTestApi(url, { metrics: createMetrics(), config })
  }
})
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop()
  await world.stop()
})

/** The operation's request as it should be, to a server in the state of that code. */
function plainCall(
  { id, method, path }: Operation,
  state: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { url = '' } = servers[state] ?? {}
  const query = plainQueries[id] ?? ''
  return call(url + path.replace('{id}', '1') + query, method, { body: plainBodies[id], ...options })
}

/** What the cases of an operation leave to the tests below. */
const everyCall = [
  ...['unauthenticated', 'forbidden', 'too_many_bad_keys'],
  ...['database_unreachable', 'schema_outdated', 'permission_denied'],
]
/** test/outages/unwritable.slow.test.ts, and the last one test/doctor/few-locks.test.ts. */
const outages = ['database_timed_out', 'database_read_only', 'database_full', 'database_locks_exhausted']
const elsewhere: Record<string, string[]> = {
  publishEvent: ['overloaded', 'partition_missing', 'too_much_at_once', 'idempotency_key_required'],
  publishEvents: ['overloaded', 'partition_missing', 'too_much_at_once'],
  readiness: ['503'],
  // test/observability/live/watch-system.test.ts
  watchSystem: ['overloaded'],
}
/** What is answered whatever the database says: numbers of the process, and a stream that tells about it. */
const answeredAnyway = ['metrics', 'watchSystem']

describe('every operation of the document', () => {
  it.each(named(contract.operations))(
    '[O1] %s has a case for each of its answers, and no others',
    (_name, { id, isKeyless, answers }) => {
      const covered = [
        ...Object.keys(cases[id] ?? {}),
        ...(isKeyless ? [] : [...everyCall, ...outages]),
        ...(elsewhere[id] ?? []),
      ]
      expect(covered.sort()).toEqual(answers.toSorted())
    },
  )

  it('[O1] no case is for an operation that does not exist', () => {
    const ids = contract.operations.map(({ id }) => id)
    expect([...Object.keys(cases), ...Object.keys(plainBodies), ...Object.keys(elsewhere)]).toSatisfy(
      (names: string[]) => names.every((name) => ids.includes(name)),
    )
  })

  it.each(
    contract.operations.flatMap((operation) =>
      Object.entries(cases[operation.id] ?? {}).map(
        ([answer, provoke]) => [operation.method, operation.path, answer, operation, provoke] as const,
      ),
    ),
  )('[O1] %s %s: %s as documented', async (_method, _path, expected, operation, provoke) => {
    const answers = [await provoke(world)].flat()
    expect(answers.map((answer) => contract.check(operation, answer))).toEqual(answers.map(() => expected))
  })
})

describe('every operation with a key', () => {
  it.each(named(keyed))('[O2] %s: no key, no real key, a wrong key', async (_name, operation) => {
    // A server of its own, or the bad keys add up to another answer.
    const server = await startTestApi(database.url, { metrics: createMetrics() })
    const ask = (options: CallOptions) =>
      call(server.url + operation.path.replace('{id}', '1'), operation.method, options)
    const answers = [
      await ask({ key: null }),
      await ask({ key: null, headers: { authorization: 'Basic abc' } }),
      await ask({ key: `${adminKey}x` }),
      await ask({ key: 'spk_unknown' }),
    ]
    await server.stop()
    expect(answers.map((answer) => contract.check(operation, answer))).toEqual(
      answers.map(() => 'unauthenticated'),
    )
  })

  it.each(named(keyed))('[O2] %s: a key of another scope', async (_name, operation) => {
    const isIngest = operation.id.startsWith('publish') || operation.id === 'sendSignal'
    const key = await world.keyOf(isIngest ? 'read' : 'ingest')
    const answer = await world.call(operation.method, operation.path.replace('{id}', '1'), { key })
    expect(contract.check(operation, answer)).toBe('forbidden')
  })

  it('[O2] after too many bad keys', async () => {
    for (let n = 0; n < 20; n++) {
      const { status } = await plainCall(keyed[0] as Operation, 'too_many_bad_keys', { key: `spk_${n}` })
      expect(status).toBe(401)
    }
    for (const operation of keyed) {
      const answer = await plainCall(operation, 'too_many_bad_keys', { key: 'spk_wrong' })
      expect(contract.check(operation, answer)).toBe('too_many_bad_keys')
    }
  })

  it.each(
    ['database_unreachable', 'schema_outdated', 'permission_denied'].flatMap((state) =>
      named(keyed).map(([name, operation]) => [state, name, operation] as const),
    ),
  )('[O7] %s: %s', async (state, _name, operation) => {
    // The key is looked up first; the administrator's needs no database, and the call itself meets the obstacle.
    const unknownKey = await plainCall(operation, state, { key: 'spk_unknown' })
    expect(contract.check(operation, unknownKey)).toBe(state)
    const known = contract.check(operation, await plainCall(operation, state))
    expect(known).toBe(answeredAnyway.includes(operation.id) ? '200' : state)
  })
})

describe('the rest of the answers', () => {
  const operationOf = (id: string) => contract.operations.find((each) => each.id === id) as Operation
  const publishing = [operationOf('publishEvent'), operationOf('publishEvents')]

  it('[O2] GET /readyz: 503 with the reason, while GET /healthz stays healthy', async () => {
    for (const state of ['database_unreachable', 'schema_outdated', 'permission_denied']) {
      const answer = await plainCall(operationOf('readiness'), state, { key: null })
      expect(contract.check(operationOf('readiness'), answer)).toBe('503')
      expect(answer.body.obstacles[0].code).toBe(state)
      const health = await plainCall(operationOf('health'), state, { key: null })
      expect(contract.check(operationOf('health'), health)).toBe('200')
    }
  })

  it('[E1] publishing without a partition for the event', async () => {
    for (const operation of publishing) {
      const answer = await plainCall(operation, 'partition_missing')
      expect(contract.check(operation, answer)).toBe('partition_missing')
    }
  })

  it('[E3] publishing without an idempotency key where one is required', async () => {
    const [single] = publishing as [Operation]
    const answer = await plainCall(single, 'idempotency_key_required')
    expect(contract.check(single, answer)).toBe('idempotency_key_required')
  })

  it('[E1] publishing while other bodies of the key hold too many bytes', async () => {
    const { url } = servers['too_much_at_once'] as HttpServer
    const length = `Content-Length: ${16 * 1024 * 1024}`
    const held = await Promise.all(Array.from({ length: 4 }, () => withholdBody(url, length)))
    const event = { type: 'large', payload: 'x'.repeat(100_000) }
    const [single, batch] = publishing as [Operation, Operation]
    for (const [operation, body] of [
      [single, event],
      [batch, { events: [event] }],
    ] as const) {
      await expect
        .poll(async () => contract.check(operation, await plainCall(operation, 'too_much_at_once', { body })))
        .toBe('too_much_at_once')
    }
    for (const socket of held) socket.destroy()
  })

  it('[E1] publishing while too much waits to be stored', async () => {
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE sagapost.events IN ACCESS EXCLUSIVE MODE')
    const [single, batch] = publishing as [Operation, Operation]
    const body = { events: Array.from({ length: 1_000 }, () => ({ type: 'flood', payload: 1 })) }
    const batches = Array.from({ length: 25 }, () => plainCall(batch, 'overloaded', { body }))
    // Admitted requests wait for the lock: the first answer is a refusal.
    expect(contract.check(batch, await Promise.race(batches))).toBe('overloaded')
    expect(contract.check(single, await plainCall(single, 'overloaded'))).toBe('overloaded')
    await holder.query('ROLLBACK')
    holder.release()
    const answers = (await Promise.all(batches)).map((answer) => contract.check(batch, answer))
    expect(answers.filter((answer) => answer === '202')).toHaveLength(20)
  })

  it('[O1] nothing at another method or path, with any key', async () => {
    const paths = new Map<string, string[]>()
    for (const { path, method } of contract.operations) paths.set(path, [...(paths.get(path) ?? []), method])
    for (const [path, methods] of paths) {
      const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (method) => !methods.includes(method),
      )
      const at = path.replace('{id}', '1')
      const asked = [...others.map((method) => [method, at]), [methods[0] as string, `${at}/more/of/it`]]
      for (const [method = '', where = ''] of asked) {
        for (const key of [adminKey, null]) {
          const answer = await world.call(method, where, { key })
          // These are the paths of an event and a dead letter, with ids that none has.
          if (['GET /v1/events/batch', 'GET /v1/dead-letters/requeue'].includes(`${method} ${where}`))
            continue
          expect([method, where, answer.status, contract.checkProblem(answer)]).toEqual([
            method,
            where,
            404,
            'not_found',
          ])
        }
      }
    }
  })
})

describe('odd requests', () => {
  const odd: Record<string, CallOptions> = {
    'an encoded body': { body: '{}', headers: { 'content-encoding': 'gzip' } },
    'an encoding without a body': { headers: { 'content-encoding': 'br' } },
    'another content type': { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    'a content type and no body': { headers: { 'content-type': 'application/json' } },
    'a body that is no JSON': { body: '{"a"' },
    'a scalar': { body: '7' },
    'a list': { body: '[{}]' },
    'a field nobody knows': { body: '{"nobody":"knows"}' },
    'a body that is large': { body: `{"a":"${'x'.repeat(300_000)}"}` },
    'a key that is too long': { headers: { 'idempotency-key': 'x'.repeat(300) } },
  }
  it.each(
    named(contract.operations).flatMap(([name, operation]) =>
      Object.entries(odd)
        // fetch sends no body with GET.
        .filter(([, { body }]) => operation.method !== 'GET' || body === undefined)
        .map(([what, options]) => [name, what, operation, options] as const),
    ),
  )('[O1] %s with %s is answered as documented', async (_name, _what, operation, options) => {
    const ids = operation.path.includes('{id}') ? ['999999999', await world.subscription()] : ['']
    for (const id of ids) {
      for (const query of ['', '?unknown=1', '?limit=%00&cursor=%ff']) {
        const path = operation.path.replace('{id}', id) + query
        contract.check(operation, await world.call(operation.method, path, options))
      }
    }
  })
})
