import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, rights, testsOf } from './named-tests.js'

const publishTests = testsOf('test/schema/publish.test.ts')
const reservedTests = testsOf('test/schema/reserved-types.test.ts')
const keyTests = testsOf('test/http/require-keys.test.ts')
const scanTests = testsOf('test/http/scan-json.test.ts')
const turnTests = testsOf('test/http/read-in-turns.test.ts')
const flightTests = testsOf('test/http/bytes-in-flight.test.ts')
const secretTests = testsOf('test/config/secrets.test.ts')
const transactionTests = testsOf('test/database/in-transaction.test.ts')
const postTests = testsOf('test/http/publish-events.test.ts')
const answeredAfterCommit = postTests(
  '[E1, S22] a commit that fails is answered as a failure, never with 202',
)

const burnedIds = testsOf('test/delivery/ingestion/burned-ids.test.ts')
const overHttp = burnedIds(
  '[E1] an event without a partition over HTTP has one created, and is stored on its retry',
)

/** Events, their keys, and what is acknowledged. */
export const events: readonly Mutant[] = [
  {
    id: 'payload-as-jsonb',
    rules: ['E1'],
    breaks: 'Payloads are kept as jsonb, which orders names and drops repeated ones.',
    edits: [
      {
        file: schema.events,
        find: '  payload        json         NOT NULL,',
        replace: '  payload        jsonb        NOT NULL,',
      },
    ],
    test: publishTests('[E1] stores the event byte for byte, whatever JSON it is'),
  },
  {
    id: 'events-can-be-changed',
    rules: ['E2'],
    breaks: 'Events cannot be deleted, but can be changed.',
    edits: [
      {
        file: schema.events,
        find: 'BEFORE UPDATE OR DELETE ON sagapost.events',
        replace: 'BEFORE DELETE ON sagapost.events',
      },
    ],
    test: guards('[E2, D2] UPDATE of every column of %s'),
  },
  {
    id: 'partition-can-be-truncated',
    rules: ['E2', 'D2', 'S11'],
    breaks: 'New partitions come without the guard against TRUNCATE.',
    edits: [
      {
        file: schema.partitions,
        find: `  EXECUTE format(
    'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', partition);
`,
        replace: '',
      },
    ],
    test: guards('[E2, S11, D2] DELETE and TRUNCATE of %s, also in the partition and under replication'),
  },
  {
    id: 'later-partition-can-be-truncated',
    rules: ['E2'],
    breaks: 'Partitions that are made after the last migration come without the guard against TRUNCATE.',
    edits: [
      {
        file: schema.partitions,
        find: `  EXECUTE format(
    'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', partition);
`,
        replace: '',
      },
    ],
    test: guards('[E2, R1] a partition that is made later has the guards of its table, too'),
  },
  {
    id: 'key-forgets-the-type',
    rules: ['E3'],
    breaks: 'A key that was used for another type of event is taken for a repetition.',
    edits: [
      {
        file: schema.events,
        find: `sha256(convert_to(event_type || E'\\n' || payload::text, 'UTF8'))`,
        replace: `sha256(convert_to(payload::text, 'UTF8'))`,
      },
    ],
    test: publishTests('[E3] refuses a used key with %s and names the event that has it'),
  },
  {
    id: 'batch-stores-repetitions',
    rules: ['E3'],
    breaks: 'Events of a batch are stored although their key is known.',
    edits: [
      {
        file: schema.events,
        find: '  WHERE key IS NULL OR new_id IN (SELECT event_id FROM claimed);',
        replace: '  WHERE key IS NULL OR new_id IN (SELECT event_id FROM claimed) OR key IS NOT NULL;',
      },
    ],
    test: testsOf('test/delivery/ingestion/store-events.test.ts')(
      '[E3] answers a known key with the first id and time, and stores it once, in one batch or in two',
    ),
  },
  {
    id: 'batch-takes-repetitions-for-new',
    rules: ['E3'],
    breaks: 'With one new event in it, all of a batch counts as new.',
    edits: [
      {
        file: schema.events,
        find: '  IF stored = cardinality(event_types) THEN',
        replace: '  IF stored > 0 THEN',
      },
    ],
    test: testsOf('test/delivery/ingestion/store-events.test.ts')(
      '[E3] answers a known key with the first id and time, and stores it once, in one batch or in two',
    ),
  },
  {
    id: 'known-key-takes-an-id',
    rules: ['E3'],
    breaks: 'Each call with a known key leaves a gap in the ids.',
    edits: [
      {
        file: schema.events,
        find: '  IF idempotency_key IS NOT NULL THEN',
        replace: `  new_id := nextval('sagapost.events_id_seq');\n  IF idempotency_key IS NOT NULL THEN`,
      },
    ],
    test: burnedIds('[E3] a known key consumes no id, however often it is published'),
  },
  {
    id: 'batch-takes-ids-for-known-keys',
    rules: ['E3'],
    breaks: 'Items of a batch whose key is known leave gaps in the ids.',
    edits: [
      {
        file: schema.events,
        find: 'WHERE known.key = given.key LIMIT 1)',
        replace: 'WHERE false)',
      },
    ],
    test: burnedIds('[E3] in a batch only new events consume an id, in the order of the items'),
  },
  {
    id: 'missing-partition-is-not-asked-for',
    rules: ['E1'],
    breaks: 'Events that find no partition are refused until the next round of the loop that makes them.',
    edits: [
      {
        file: 'src/http/server/start-api.ts',
        find: `onPartitionMissing: () => wakeups?.wake('partitions'),`,
        replace: '',
      },
    ],
    test: overHttp,
  },
  {
    id: 'missing-partition-blamed-on-an-item',
    rules: ['E1'],
    breaks: 'A group that finds no partition is halved again and again, and each half takes ids.',
    edits: [
      {
        file: 'src/delivery/ingestion/group-store.ts',
        find: `if (databaseErrorCode(error) === 'partition_missing') {`,
        replace: `if (databaseErrorCode(error) === 'partition_missing' && units.length === 1) {`,
      },
    ],
    test: overHttp,
  },
  {
    id: 'keys-forgotten-within-the-window',
    rules: ['E3'],
    breaks: 'Keys are forgotten before their window is over.',
    edits: [
      {
        file: schema.events,
        find: `created_at < least(older_than, sagapost.now() - interval '1 minute')`,
        replace: `created_at < greatest(older_than, sagapost.now() - interval '1 minute')`,
      },
    ],
    test: publishTests('[E3] deletes keys older than the window, in bounded steps, and no younger ones'),
  },
  {
    id: 'acknowledged-before-commit',
    rules: ['E1', 'E3', 'S22'],
    breaks: 'Posted events are acknowledged before their transaction has committed.',
    edits: [
      {
        file: 'src/delivery/ingestion/group-store.ts',
        find: 'await onConnection(pool, (client) => storeOnce(client, events, options))',
        replace: `await onConnection(pool, async (client) => {
      await client.query('BEGIN')
      const stored = await storeOnce(client, events, options)
      for (const [index, item] of items.entries()) item.settle(stored[index] as StoreOutcome)
      await client.query('COMMIT')
      return stored
    })`,
      },
    ],
    test: answeredAfterCommit,
  },
  {
    id: 'commit-not-awaited',
    rules: ['S22'],
    breaks: 'A transaction counts as done when its COMMIT has been sent, not when it was answered.',
    edits: [
      {
        file: 'src/database/in-transaction.ts',
        find: `    await client.query('COMMIT')`,
        replace: `    client.query('COMMIT').catch(() => {})`,
      },
    ],
    test: transactionTests('[S22] a commit that fails is a failure'),
  },
  {
    id: 'commit-forgotten',
    rules: ['E3', 'S22'],
    breaks: 'Posted events are acknowledged while their transaction stays open.',
    edits: [
      {
        file: 'src/delivery/ingestion/group-store.ts',
        find: 'await onConnection(pool, (client) => storeOnce(client, events, options))',
        replace: `await onConnection(pool, async (client) => {
      await client.query('BEGIN')
      return storeOnce(client, events, options)
    })`,
      },
    ],
    test: testsOf('test/http/durability.slow.test.ts')(
      '[E1, S22] every event that was acknowledged is there after the server is killed under a thousand posts',
    ),
    needsBuild: true,
  },
  {
    id: 'transaction-left-open',
    rules: ['S22'],
    breaks: 'A transaction counts as done while it stays open.',
    edits: [
      {
        file: 'src/database/in-transaction.ts',
        find: `    await client.query('COMMIT')\n`,
        replace: '',
      },
    ],
    test: transactionTests('[S22] committed changes are visible to other transactions'),
  },
  {
    id: 'ingest-reads-deliveries',
    rules: ['E4'],
    breaks: 'The role that stores events may read deliveries.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT ON sagapost.event_keys TO event_ingest_writer;',
        replace:
          'GRANT SELECT ON sagapost.event_keys, sagapost.webhook_delivery_sagas TO event_ingest_writer;',
      },
    ],
    test: rights,
  },
  {
    id: 'large-body-keeps-its-turn',
    rules: ['E1'],
    breaks: 'A large body is read to its end before anything else has a turn.',
    edits: [
      {
        file: 'src/http/read-in-turns.ts',
        find: '    } while (performance.now() < endsAt)',
        replace: '    } while (endsAt > 0)',
      },
    ],
    test: turnTests('[E1] of %s is read in turns with other work'),
  },
  {
    id: 'large-string-in-one-piece',
    rules: ['E1'],
    breaks: 'A string is read to its end, however long it is.',
    edits: [
      {
        file: 'src/http/scan-json.ts',
        find: 'Math.min(text.length, at + PIECE_CHARACTERS)',
        replace: 'text.length',
      },
    ],
    test: turnTests('[E1] of %s is read in turns with other work'),
  },
  {
    id: 'body-of-any-depth',
    rules: ['E1'],
    breaks: 'A body is read however deep it is, and each level takes memory.',
    edits: [
      {
        file: 'src/http/scan-json.ts',
        find: 'if (open.length >= DEPTH_MAX)',
        replace: 'if (open.length < 0)',
      },
    ],
    test: turnTests('[E1] is refused at its 20,001st level, not at its end'),
  },
  {
    id: 'spaces-without-end',
    rules: ['E1'],
    breaks: 'Spaces are skipped in one go, however many stand in a row.',
    edits: [
      {
        file: 'src/http/scan-json.ts',
        find: '  throw new JsonTooLargeError(`has more than ${RUN_MAX} spaces in a row`)',
        replace: '  return skipSpace(text, at)',
      },
    ],
    test: scanTests('[O3] scans a million %s in a row, and no further'),
  },
  {
    id: 'number-without-end',
    rules: ['E1'],
    breaks: 'A number is read to its end, however long it is.',
    edits: [
      {
        file: 'src/http/scan-json.ts',
        find: 'if (pattern.lastIndex - at > RUN_MAX)',
        replace: 'if (pattern.lastIndex < 0)',
      },
    ],
    test: scanTests('[O3] scans a million %s in a row, and no further'),
  },
  {
    id: 'bytes-of-all-keys-together',
    rules: ['E1'],
    breaks: 'The bytes under way are counted for all keys together: one makes the others wait.',
    edits: [
      {
        file: 'src/http/limit-bytes-in-flight.ts',
        find: "caller?.keyId ?? 'administrator'",
        replace: "caller === null ? 'none' : 'administrator'",
      },
    ],
    test: flightTests('[E1] of one key hold at most 64 MiB; small ones and other keys are not refused'),
  },
  {
    id: 'chunked-bytes-are-free',
    rules: ['E1'],
    breaks: 'Bodies that do not tell their length count as nothing.',
    edits: [
      {
        file: 'src/http/limit-bytes-in-flight.ts',
        find: 'if (!take(key, chunk.length))',
        replace: 'if (chunk.length < 0)',
      },
    ],
    test: flightTests('[E1] without a length count by the bytes received'),
  },
  {
    id: 'gone-client-keeps-its-bytes',
    rules: ['E1'],
    breaks:
      'Clients that go while their key is looked up leave its bytes taken, until nothing large of it is let in any more.',
    edits: [
      {
        file: 'src/http/limit-bytes-in-flight.ts',
        find: '    if (reply.raw.destroyed) return done(null, body)\n',
        replace: '',
      },
    ],
    test: flightTests('[E1] whose client disconnects while its key is looked up leave nothing behind'),
  },
  {
    id: 'busy-pause-ends-rest',
    rules: ['E1'],
    breaks:
      'A process that was busy for a while takes the rest of a refused body, which is there, for a pause.',
    edits: [{ file: 'src/http/answer-errors.ts', find: 'look = setImmediate(answer)', replace: 'answer()' }],
    test: flightTests('[E1] that are refused are read to the end by a process that was busy meanwhile'),
  },
  {
    id: 'refused-body-unread',
    rules: ['E1'],
    breaks: 'A refusal closes the connection while the client writes: it may never read why.',
    edits: [
      {
        file: 'src/http/server/build-server.ts',
        find: "  api.addHook('onSend', readRest)\n",
        replace: '',
      },
      {
        file: 'src/http/server/build-server.ts',
        find: 'answerError, readRest, sendProblem',
        replace: 'answerError, sendProblem',
      },
    ],
    test: flightTests('[E1] that are refused for their own size are read to the end, also over the limit'),
  },
  {
    id: 'dropped-rest-ends-process',
    rules: ['E1'],
    breaks:
      'The rest of a body that was refused for its size ends the process when it goes over the bytes of its key.',
    edits: [
      {
        file: 'src/http/limit-bytes-in-flight.ts',
        find: "    counting.on('error', () => body.resume())\n",
        replace: '',
      },
    ],
    test: flightTests('[E1] that are refused for their own size are read to the end, also over the limit'),
  },
  {
    id: 'short-api-key',
    rules: ['O2'],
    breaks: 'An API key of any length is taken.',
    edits: [
      {
        file: 'src/config/read-config.ts',
        find: 'key.length < API_KEY_CHARACTERS_MIN',
        replace: 'key.length < 1',
      },
    ],
    test: secretTests('[O2] of less than 32 characters is refused, in a file too, and not printed'),
  },
  {
    id: 'secret-keeps-its-newline',
    rules: ['O2'],
    breaks: 'The newline at the end of a file is part of the secret.',
    edits: [{ file: 'src/config/read-secret.ts', find: ".replace(/\\r?\\n$/, '')", replace: '' }],
    test: secretTests('[O2] are read like those of the environment, without a trailing %j'),
  },
  {
    id: 'reserved-type-over-http',
    rules: ['E4'],
    breaks: 'The code lets events with types of Sagapost’s own through.',
    edits: [
      {
        file: 'src/model/event-type.ts',
        find: 'return RESERVED_PREFIXES.some((prefix) => type.startsWith(prefix))',
        replace: 'return RESERVED_PREFIXES.includes(type)',
      },
    ],
    test: reservedTests('[E4] are refused from %s, and similar ones are not'),
  },
  {
    id: 'reserved-type-by-function',
    rules: ['E4'],
    breaks: 'The function that publishes stores types of Sagapost’s own, because it runs as the owner.',
    edits: [
      {
        file: schema.events,
        find: '(_batch|_awaited_events)?',
        replace: '(_batch|_awaited_events)',
      },
    ],
    test: reservedTests('[E4] are refused whatever the publisher sets before'),
  },
  {
    id: 'reserved-type-by-step',
    rules: ['E4'],
    breaks: 'A step that delivers an event can say that a saga has ended.',
    edits: [
      {
        file: schema.events,
        find: '_batch|_awaited_events',
        replace: '_batch',
      },
    ],
    test: reservedTests('[E4] are refused of a step that delivers an event'),
  },
  {
    id: 'reserved-type-by-insert',
    rules: ['E4'],
    breaks: 'Only the functions refuse types of Sagapost’s own, not a plain INSERT.',
    edits: [
      {
        file: schema.events,
        find: "SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')",
        replace: "SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') AND false",
      },
    ],
    test: reservedTests('[E4] are refused from %s, and similar ones are not'),
  },
  {
    id: 'keys-never-required',
    rules: ['E3'],
    breaks: 'A server that requires idempotency keys takes events without one.',
    edits: [
      {
        file: 'src/http/routes/events.ts',
        find: 'requireKey ? refuseKeyless :',
        replace: 'requireKey && false ? refuseKeyless :',
      },
    ],
    test: keyTests('[E3] refuses an event without one, and accepts one from the body or the header'),
  },
]
