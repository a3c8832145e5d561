import type { Command } from 'commander'
import { beforeAll, expect, it } from 'vitest'
import { buildProgram } from '../../src/cli/run.js'
import { createClient } from '../../src/client/index.js'
import { inTransaction } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters } from '../support/dead-letters.js'
import { insertDelivery } from '../support/fixtures.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'
import { insertSaga, insertStuckSaga } from '../support/sagas.js'
import { runCli } from '../support/spawn-cli.js'

const database = useDatabase()
const server = useSagapost(database)
/** The ids that the commands below are given. */
const ids = { subscription: '', event: '', delivery: '', deadLetter: '', saga: '', stuck: '' }

/** What each command is called with, and what it prints. */
const commands: Record<string, () => [args: string[], output: RegExp]> = {
  migrate: () => [[], /^The schema is up to date\n$/],
  doctor: () => [['--schema'], /^ok +schema +matches this release$/m],
  publish: () => [['smoke.test', '{"n":1}'], /^Published event \d+\n$/],
  completion: () => [['bash'], /_sagapost/],
  'events list': () => [[], /^ID +TYPE /],
  'events show': () => [[ids.event], /^Event +\d+\n/],
  'events set-aside': () => [[], /^No events were set aside\n$/],
  'events requeue': () => [[], /^No events were set aside or lost\n$/],
  'subscriptions list': () => [[], /^ID +TYPE +STATE /],
  'subscriptions show': () => [[ids.subscription], /^Subscription +\d+\n/],
  'subscriptions create': () => [['smoke.more', server.receiver.url], /^Secret +whsec_/m],
  'subscriptions verify': () => [[ids.subscription], /is verified and active\n$/],
  'subscriptions test': () => [[ids.subscription], /^Delivered +yes$/m],
  'subscriptions update': () => [[ids.subscription, '--max-attempts', '3'], /^Max attempts +3$/m],
  'subscriptions rotate-secret': () => [[ids.subscription], /^Secret +whsec_/m],
  'subscriptions pause': () => [[ids.subscription], /^State +paused$/m],
  'subscriptions resume': () => [[ids.subscription], /^State +active$/m],
  'subscriptions delete': () => [[ids.subscription], /^Deleted subscription \d+\n$/],
  'deliveries list': () => [[], /^ID +EVENT +SUBSCRIPTION /],
  'deliveries show': () => [[ids.delivery], /^Delivery +\d+\n/],
  'deliveries cancel': () => [[ids.delivery], /^Cancellation of delivery \d+ requested/],
  'dead-letters list': () => [[], /^ID +EVENT +TYPE /],
  'dead-letters show': () => [[ids.deadLetter], /^Dead letter +\d+\n/],
  'dead-letters requeue': () => [[ids.deadLetter], /^Requeued dead letter \d+ as delivery \d+\n$/],
  'sagas list': () => [[], /^ID +DEFINITION +STATE /],
  'sagas show': () => [[ids.saga], /^Saga +\S+\n/],
  'sagas cancel': () => [[ids.saga, '--why', 'smoke'], /is Cancelled/],
  'sagas resolve': () => [[ids.stuck, '--action', 'resolve', '--why', 'smoke'], /is Failed now\n$/],
  'sagas signal': () => [['paid', 'order-7'], /^Kept until /],
  'sagas cleanup': () => [['--older-than', '30d'], /^Removed 0 sagas\n$/],
  'sagas tables': () => [[], /^TABLE +ROWS /],
  'sagas maintain': () => [['--task', 'vacuum'], /^Vacuumed and analyzed saga_instances\n/],
  'keys create': () => [['--scope', 'read', '--name', 'smoke'], /^Key +spk_/m],
  'keys list': () => [[], /^1 +smoke +read /m],
  'keys revoke': () => [['1'], /^Revoked key 1 \(smoke\)/],
}

/** They run until they are stopped: their tests are dev, serve and listen.slow.test.ts, and test/bench. */
const elsewhere = ['dev', 'serve', 'listen', 'bench']

beforeAll(async () => {
  const client = createClient({ baseUrl: server.url, apiKey: adminKey })
  const callback = { eventType: 'smoke.test', callbackUrl: server.receiver.url }
  ids.subscription = (await client.subscriptions.create(callback)).id
  // In one transaction: the router of the server would deliver the event before.
  const delivery = await inTransaction(database.pool, (client) => insertDelivery(client, 'PendingRetry'))
  ids.delivery = delivery.id
  ids.event = delivery.eventId
  const letters = { count: 1, subscriptionId: delivery.subscriptionId }
  ids.deadLetter = (await insertDeadLetters(database.pool, letters))[0] as string
  ids.saga = await insertSaga(database.as('saga_app_role'))
  ids.stuck = await insertStuckSaga(database.as('saga_app_role'))
})

it('[O2] every command is covered', () => {
  const namesOf = ({ commands }: Command, before = ''): string[] =>
    commands.flatMap((each) =>
      each.commands.length > 0 ? namesOf(each, `${each.name()} `) : [before + each.name()],
    )
  expect(namesOf(buildProgram(process)).sort()).toEqual([...Object.keys(commands), ...elsewhere].sort())
})

it.each(Object.entries(commands))('[O2] sagapost %s works as a program', async (name, call) => {
  const [args, output] = call()
  const env = {
    SAGAPOST_URL: server.url,
    SAGAPOST_API_KEY: adminKey,
    DATABASE_URL: database.url,
    USER: 'ann',
  }
  const { code, stdout, stderr } = await runCli([...name.split(' '), ...args], env)
  // The doctor finds the subscription that was inserted without a secret.
  expect([code, stderr, stdout]).toEqual([name === 'doctor' ? 1 : 0, '', expect.stringMatching(output)])
})
