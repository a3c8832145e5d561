import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const rangesFile = 'src/database/read-ranges.ts'
const rangeTests = testsOf('test/database/read-ranges.test.ts')
const sameRows = rangeTests(
  '[S21, E1] of events (%s) has the same rows as one statement over all ranges, in the same order',
)
const sameCount = rangeTests('[S21, D4] of dead letters equals that of one statement over all ranges')
const foundById = rangeTests('[S21] (number %i) is found by its id')
const foundFile = 'src/delivery/reading/find-in-each-range.ts'
const foundTest = rangeTests('[S21] (%s) returns all of them, newest first, however short the search is')
const lockTest = rangeTests('[S21] no read locks more partitions when there are more of them')

/** What reads many partitions a group at a time. */
export const readRangesMutants: readonly Mutant[] = [
  {
    id: 'read-skips-a-group',
    rules: ['S21', 'E1'],
    breaks: 'A list leaves out the second group of partitions.',
    edits: [
      {
        file: rangesFile,
        find: 'for (const range of await readRanges(pool)) {\n    yield',
        replace:
          'for (const range of (await readRanges(pool)).filter((_, place) => place !== 1)) {\n    yield',
      },
    ],
    test: sameRows,
  },
  {
    id: 'read-merges-without-order',
    rules: ['S21', 'E1'],
    breaks: 'A list has the rows of the newest events first, whatever its order is.',
    edits: [{ file: rangesFile, find: '.sort(order).slice(0, limit)', replace: '.slice(0, limit)' }],
    test: sameRows,
  },
  {
    id: 'read-limit-per-group',
    rules: ['S21', 'E1'],
    breaks: 'A page may have as many rows as asked for from each group of partitions.',
    edits: [{ file: rangesFile, find: '.sort(order).slice(0, limit)', replace: '.sort(order)' }],
    test: rangeTests('[S21] a page over many ranges has no more rows than one statement over all'),
  },
  {
    id: 'read-bounds-not-written',
    rules: ['S21'],
    breaks: 'The markers stay comments: every group is read from all partitions.',
    edits: [
      {
        file: rangesFile,
        find: 'bounded.replace(/\\/\\* range of',
        replace: 'bounded.replace(/\\/\\* range Of',
      },
    ],
    test: sameCount,
  },
  {
    id: 'read-newest-group-ends',
    rules: ['S21', 'E1'],
    breaks: 'Events of a partition that was made a moment ago are missing in lists.',
    edits: [
      {
        file: schema.partitions,
        find: 'lag(border) OVER (ORDER BY place)',
        replace: 'lag(border, 1, (SELECT max(border) + 1 FROM borders)) OVER (ORDER BY place)',
      },
    ],
    test: rangeTests(
      '[S21] the newest group has no upper bound and the oldest no lower bound, and there is one group for few ranges',
    ),
  },
  {
    id: 'read-by-id-stops-early',
    rules: ['S21'],
    breaks: 'A delivery or a dead letter is looked for in the newest group only.',
    edits: [{ file: rangesFile, find: 'if (rows.length > 0) return rows', replace: 'return rows' }],
    test: foundById,
  },
  {
    id: 'found-event-keeps-locks',
    rules: ['S21', 'D4'],
    breaks:
      'The locks of the groups that a dead letter was looked for in stay until the end of the transaction.',
    edits: [
      {
        file: schema.partitions,
        find: `      INTO event_id USING wanted;
      RAISE SQLSTATE 'SP000';
    EXCEPTION WHEN SQLSTATE 'SP000' THEN
      EXIT WHEN event_id IS NOT NULL;
    END;`,
        replace: `      INTO event_id USING wanted;
      EXIT WHEN event_id IS NOT NULL;
    END;`,
      },
    ],
    test: lockTest,
  },
  {
    id: 'requeued-batch-locks-all',
    rules: ['S21', 'D4'],
    breaks: 'A batch of a requeue by filter has one plan for all values, which locks every partition.',
    edits: [
      {
        file: schema.builtInSagas,
        find: `'sagapost.webhook_delivery_sagas'::regclass OFFSET 24)`,
        replace: `'sagapost.webhook_delivery_sagas'::regclass OFFSET 24000)`,
      },
    ],
    test: lockTest,
  },
  {
    id: 'requeue-plans-one-group',
    rules: ['S21', 'D4'],
    breaks: 'A requeue by filter finds the dead letters of the oldest group only.',
    edits: [
      {
        file: schema.builtInSagas,
        find: '    EXIT WHEN matched > most;\n',
        replace: '    EXIT WHEN matched > 0;\n',
      },
    ],
    test: rangeTests('[S21, D4] a requeue by filter finds the dead letters of all ranges'),
  },
  {
    id: 'search-end-of-one-range',
    rules: ['S21'],
    breaks: 'A page goes on past the delivery where the search in one range stopped.',
    edits: [
      {
        file: foundFile,
        find: 'const known = examinedTo === null ? rows',
        replace: 'const known = examinedTo !== null ? rows',
      },
    ],
    test: foundTest,
  },
  {
    id: 'search-end-of-oldest-range',
    rules: ['S21'],
    breaks: 'The next page begins where the search went furthest, and not where one range stopped it.',
    edits: [
      {
        file: foundFile,
        find: 'BigInt(one) > BigInt(other) ? one : other',
        replace: 'BigInt(one) < BigInt(other) ? one : other',
      },
    ],
    test: foundTest,
  },
  {
    id: 'typed-search-end-forgotten',
    rules: ['S21'],
    breaks: 'Deliveries of a type are listed past the event where the look into one range stopped.',
    edits: [
      {
        file: 'src/delivery/reading/list-deliveries-of-type.ts',
        find: '(!oldest || byTime(eventOf(row), oldest) <= 0)',
        replace: 'true',
      },
    ],
    test: rangeTests(
      '[S21] deliveries of a type are found by event, also where a search stops in several ranges',
    ),
  },
]
