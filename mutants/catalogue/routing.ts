import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { rights, testsOf } from './named-tests.js'

const routeTests = testsOf('test/delivery/router/route-events.test.ts')
const routeFile = 'src/delivery/router/route-events.ts'

export const routing: readonly Mutant[] = [
  {
    id: 'cursor-instead-of-queue',
    rules: ['R1'],
    breaks:
      'Events are routed from the last routed id on: one that commits late with an earlier id is skipped.',
    edits: [
      {
        file: routeFile,
        find: 'const columns = `queue.id, event_type, event_ids, correlation_ids, cardinality(event_ids) AS size,',
        replace:
          'const columns = `queue.id, event_type, ARRAY[id] AS event_ids, ARRAY[correlation_id] AS correlation_ids, 1 AS size,',
      },
      {
        file: routeFile,
        find: `  FROM sagapost.event_routing_queue AS queue
  WHERE id < 1::bigint << 52 ORDER BY id LIMIT (SELECT rows_max FROM size)
  FOR UPDATE SKIP LOCKED`,
        replace: `  FROM sagapost.events AS queue
  WHERE id > (SELECT coalesce(max(event_id), 0) FROM sagapost.webhook_delivery_sagas)
  ORDER BY id LIMIT $1`,
      },
    ],
    test: routeTests('[R1] an event that commits late, with an earlier id, is routed'),
  },
  {
    id: 'direct-insert-not-queued',
    rules: ['R1'],
    breaks: 'Events that are put into a partition directly are never routed.',
    edits: [
      {
        file: schema.partitions,
        find: `  IF parent = 'events' THEN`,
        replace: `  IF parent = 'event' THEN`,
      },
    ],
    test: testsOf('test/schema/publish.test.ts')(
      '[R1] queues events that are inserted into a partition directly',
    ),
  },
  {
    id: 'first-subscription-only',
    rules: ['R2'],
    breaks: 'Of several subscriptions of a type, one gets the event.',
    edits: [
      {
        file: 'src/delivery/router/subscription-cache.ts',
        find: 'if (ids) ids.push(id)',
        replace: 'if (ids) ids[0] = id',
      },
    ],
    test: routeTests(
      '[R2, U5] makes one delivery for each active and verified subscription of the type, and for no other',
    ),
  },
  {
    id: 'second-routing-fails',
    rules: ['R3'],
    breaks: 'Routing an event again fails instead of making what is missing.',
    edits: [
      {
        file: 'src/delivery/router/make-possible.ts',
        find: '\n  ON CONFLICT (event_id, subscription_id, requeued_from) DO NOTHING',
        replace: '',
      },
    ],
    test: routeTests('[R3, S3] routing again makes no second delivery'),
  },
  {
    id: 'failed-batch-is-gone',
    rules: ['R3', 'R1'],
    breaks: 'The events leave the queue in a transaction of their own, before their deliveries are made.',
    edits: [
      {
        file: routeFile,
        find: '    const routes = await cache.at(first.version, client)',
        replace: `    await client.query('DELETE FROM sagapost.event_routing_queue WHERE id = ANY ($1::bigint[])', [
      rows.map(({ id }) => id),
    ])
    await client.query('COMMIT')
    await client.query('BEGIN')
    const routes = await cache.at(first.version, client)`,
      },
    ],
    test: routeTests('[R3] a batch that fails leaves its events in the queue'),
  },
  {
    id: 'router-reads-payloads',
    rules: ['R4'],
    breaks: 'The router’s role may read the payload of events.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO router_worker;',
        replace: 'GRANT SELECT ON sagapost.events TO router_worker;',
      },
    ],
    test: rights,
  },
  {
    id: 'router-sets-statuses',
    rules: ['R4', 'S6'],
    breaks: 'The router’s role may say with which status a delivery begins.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT, INSERT (event_id, subscription_id, correlation_id) ON sagapost.webhook_delivery_sagas TO router_worker;',
        replace:
          'GRANT SELECT, INSERT (event_id, subscription_id, correlation_id, status) ON sagapost.webhook_delivery_sagas TO router_worker;',
      },
    ],
    test: rights,
  },
  {
    id: 'stale-subscription-list',
    rules: ['R5'],
    breaks: 'The router keeps its list of subscriptions whatever their version is.',
    edits: [
      {
        file: 'src/delivery/router/subscription-cache.ts',
        find: 'if (known?.version === version) return known.routes',
        replace: 'if (known) return known.routes',
      },
    ],
    test: routeTests(
      '[R5] a subscription that commits just before the routing transaction gets its delivery, with a warm cache',
    ),
  },
  {
    id: 'changes-not-counted',
    rules: ['R5'],
    breaks: 'Only new and deleted subscriptions count the version up, not changed ones.',
    edits: [
      {
        file: schema.subscriptions,
        find: 'AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON sagapost.subscriptions',
        replace: 'AFTER INSERT OR DELETE OR TRUNCATE ON sagapost.subscriptions',
      },
    ],
    test: testsOf('test/schema/subscriptions.test.ts')(
      '[R5] every change of a subscription is counted in its own transaction',
    ),
  },
]
