import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const limits = testsOf('test/schema/payload-limit.test.ts')
const large = testsOf('test/delivery/worker/large-payloads.test.ts')
const guarded = testsOf('test/database/guarded-client.test.ts')
const parameters = testsOf('test/http/hostile-parameters.test.ts')
const partitions = testsOf('test/sagas/storage/postgres/event-partitions.test.ts')
const proportions = testsOf('test/schema/general-sagas/proportions.slow.test.ts')
const unmigrated = testsOf('test/embedding/migrate.test.ts')

/** Payloads that are too large, values that PostgreSQL refuses, and plans and periods that change by themselves. */
export const payload: readonly Mutant[] = [
  {
    id: 'payload-without-limit',
    rules: ['E1'],
    breaks: 'A plain INSERT stores a payload of any size.',
    edits: [
      {
        file: schema.events,
        find: 'pg_column_size(payload) <= 2048 OR octet_length(payload::text) <= sagapost.payload_bytes_max())',
        replace: 'octet_length(payload::text) > 0)',
      },
    ],
    test: limits('[E1] holds for %s: that many bytes are stored, one more is refused'),
  },
  {
    id: 'limit-by-stored-size',
    rules: ['E1'],
    breaks: 'The limit looks at the size as stored, which a compressed payload passes.',
    edits: [
      {
        file: schema.events,
        find: 'OR octet_length(payload::text) <= sagapost.payload_bytes_max())',
        replace: 'OR pg_column_size(payload) <= sagapost.payload_bytes_max() + 4)',
      },
    ],
    test: limits('[E1] holds for a payload that comes compressed from another table'),
  },
  {
    id: 'claim-without-byte-limit',
    rules: ['J4'],
    breaks: 'A claim brings all payloads of its batch along, however large.',
    edits: [
      {
        file: 'src/delivery/worker/claim-jobs.ts',
        find: 'CASE WHEN pg_column_size(event.payload) <= 8192 THEN event.payload::text END AS payload',
        replace: 'event.payload::text AS payload',
      },
    ],
    test: large('[J4] is left out of the claim, which takes small ones along'),
  },
  {
    id: 'large-payloads-all-at-once',
    rules: ['J4'],
    breaks: 'Large payloads are read without a look at how much is held already.',
    edits: [
      {
        file: 'src/delivery/worker/large-payloads.ts',
        find: 'heldBytes += bytes',
        replace: 'heldBytes += 0',
      },
    ],
    test: large('[J4] is not read while those before it fill the memory reserved for them'),
  },
  {
    id: 'unreadable-payload-is-read',
    rules: ['J6'],
    breaks: 'A worker reads a payload from before the limit, whatever its size.',
    edits: [
      {
        file: 'src/delivery/worker/large-payloads.ts',
        find: 'CASE WHEN octet_length(text) <= $4 THEN text END AS payload',
        replace: 'text AS payload',
      },
    ],
    test: large('[J6, S13] is a failed attempt, and the endpoint is not blamed'),
  },
  {
    id: 'parser-error-ends-process',
    rules: [],
    breaks: 'An error of the driver’s parser is thrown in the socket’s data event.',
    edits: [
      {
        file: 'src/database/guarded-client.ts',
        find: "if (name !== 'data') return stream.on(name, listener)",
        replace: "if (name !== 'none') return stream.on(name, listener)",
      },
    ],
    test: guarded('fails the statement of a single connection'),
  },
  {
    id: 'nul-to-the-database',
    rules: [],
    breaks: 'U+0000 in a filter reaches PostgreSQL, which refuses it: a 500.',
    edits: [
      { file: 'src/http/server/build-server.ts', find: '    refuseNul(request)\n', replace: '' },
      {
        file: 'src/http/server/build-server.ts',
        find: "import { refuseNul } from '../refuse-nul.js'\n",
        replace: '',
      },
    ],
    test: parameters('[O1] is never answered with a 500, whichever parameter holds them'),
  },
  {
    id: 'query-is-a-500',
    rules: [],
    breaks: 'A QUERY without a content type is an error of the framework that has no answer.',
    edits: [
      {
        file: 'src/http/explain-error.ts',
        find: "    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':\n",
        replace: '',
      },
    ],
    test: parameters('[O1] that no path has is answered with 404, or refused as an invalid request'),
  },
  {
    id: 'weeks-become-months',
    rules: [],
    breaks: 'Partitions of saga_events that are made ahead last a month, whatever was chosen.',
    edits: [
      {
        file: schema.sagaUpkeep,
        find: 'ensure_saga_event_partitions(every interval DEFAULT NULL, ahead',
        replace: "ensure_saga_event_partitions(every interval DEFAULT '1 month', ahead",
      },
    ],
    test: partitions('that was chosen stays, week after week'),
  },
  {
    id: 'rival-of-pattern-five',
    rules: [],
    breaks:
      'The index of steps by state is cheaper than that of the steps to retry where most have attempts left.',
    edits: [
      {
        file: schema.sagas,
        find: 'ON sagapost.saga_steps (state, attempts) WHERE',
        replace: 'ON sagapost.saga_steps (state) WHERE',
      },
    ],
    test: proportions('[G10] each of the six patterns uses the index that is named for it'),
  },
  {
    id: 'cancel-waits-for-definition',
    rules: [],
    breaks: 'A cancel of a saga that never began waits for a coordinator with its definition.',
    edits: [
      {
        file: 'src/sagas/run/resolve-saga.ts',
        find: "if (saga?.state !== 'Pending' || saga.leaseOwner !== null) return",
        replace: 'if (saga?.leaseOwner !== undefined) return',
      },
    ],
    test: testsOf('test/sagas/run/control.test.ts')(
      '[G14, G6] of a saga that never began ends it at once, even where no process has its definition',
    ),
  },
  {
    id: 'bare-driver-error',
    rules: [],
    breaks: 'Operations on a database that is not migrated throw what the driver says.',
    edits: [
      {
        file: 'src/embedding/name-missing-schema.ts',
        find: 'if (!isSchemaMissing(error)) throw error',
        replace: 'if (isSchemaMissing(error)) throw error',
      },
    ],
    test: unmigrated(
      '[G11, O2] every operation on a schema that is not migrated throws schema_outdated, not the driver’s error',
    ),
  },
]
