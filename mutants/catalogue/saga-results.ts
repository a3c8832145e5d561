import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { orchestrate, resultQueue, testsOf, transitions } from './named-tests.js'

const applyFile = 'src/delivery/orchestrator/apply-results.ts'

/** What a job's result makes of its delivery. */
export const sagaResults: readonly Mutant[] = [
  {
    id: 'result-applied-twice',
    rules: ['S4', 'S13'],
    breaks: 'A result counts whatever its attempt is, so that one of an earlier attempt counts again.',
    edits: [
      {
        file: applyFile,
        find: 'AND saga.attempt_count = result.attempt - 1',
        replace: '',
      },
    ],
    test: resultQueue(
      '[S4, S13] a result that is queued again is not counted twice, even while a later attempt is under way',
    ),
  },
  {
    id: 'success-not-counted',
    rules: ['S13'],
    breaks: 'Only failures are counted as attempts.',
    edits: [
      {
        file: applyFile,
        find: 'attempt_count = attempt_count + 1,',
        replace: 'attempt_count = attempt_count + (NOT succeeded)::int,',
      },
    ],
    test: orchestrate('[S13, S18, S4] a success completes the delivery, counts once, and clears the error'),
  },
  {
    id: 'count-guard-open-above',
    rules: ['S13'],
    breaks: 'The database lets attempt_count jump by more than one.',
    edits: [
      {
        file: schema.deliveries,
        find: 'NEW.attempt_count BETWEEN OLD.attempt_count AND OLD.attempt_count + 1',
        replace: 'NEW.attempt_count >= OLD.attempt_count',
      },
    ],
    test: transitions('[S13] increases by one when a result is applied, and never by more or back'),
  },
  {
    id: 'backoff-off-by-one',
    rules: ['S14'],
    breaks: 'The first wait is twice the base delay: the exponent counts from 1.',
    edits: [{ file: applyFile, find: '$5 * 2.0 ^ attempt_count', replace: '$5 * 2.0 ^ (attempt_count + 1)' }],
    test: orchestrate(
      '[S17, S14, D3] failures are retried by the formula and end as a dead letter at the limit',
    ),
  },
  {
    id: 'retry-after-cut-to-an-hour',
    rules: ['S14'],
    breaks: 'The cap of the backoff cuts Retry-After as well.',
    edits: [
      {
        file: applyFile,
        find: '* greatest(least($5 * 2.0 ^ attempt_count, $6), least(coalesce(retry_after_s, 0), $7) * 1000.0)',
        replace:
          '* least(greatest($5 * 2.0 ^ attempt_count, least(coalesce(retry_after_s, 0), $7) * 1000.0), $6)',
      },
    ],
    test: orchestrate('[S14] Retry-After of %s s gives a delay of %s s'),
  },
  {
    id: 'retry-after-of-a-day',
    rules: ['S14'],
    breaks: 'Retry-After is heeded for a day, whatever the longest delay is.',
    edits: [{ file: applyFile, find: '        policy.retryAfterMaxS,', replace: '        86_400,' }],
    test: orchestrate('[S14] Retry-After of %s s gives a delay of %s s'),
  },
  {
    id: 'backoff-without-cap',
    rules: ['S14'],
    breaks: 'There is no longest delay.',
    edits: [
      {
        file: applyFile,
        find: 'least($5 * 2.0 ^ attempt_count, $6)',
        replace: '$5 * 2.0 ^ attempt_count + 0 * $6',
      },
    ],
    test: orchestrate('[S14] the delay doubles up to one hour'),
  },
  {
    id: 'limit-of-subscription-ignored',
    rules: ['S15'],
    breaks: 'The default limit counts although the subscription has its own.',
    edits: [
      {
        file: applyFile,
        find: '(SELECT max_attempts FROM sagapost.subscriptions WHERE id = saga.subscription_id), $4)',
        replace: '$4, (SELECT max_attempts FROM sagapost.subscriptions WHERE id = saga.subscription_id))',
      },
    ],
    test: orchestrate('[S15, S17] the subscription’s limit of %i applies, though it is %s than the default'),
  },
  {
    id: 'limit-of-zero',
    rules: ['S15'],
    breaks: 'A subscription may have a limit of 0 attempts.',
    edits: [
      {
        file: schema.subscriptions,
        find: 'CHECK (max_attempts BETWEEN 1 AND 100)',
        replace: 'CHECK (max_attempts BETWEEN 0 AND 100)',
      },
    ],
    test: testsOf('test/schema/subscriptions.test.ts')('[S15] the limit of attempts is 1 to 100, never 0'),
  },
  {
    id: 'dead-one-attempt-too-late',
    rules: ['S17', 'S12'],
    breaks: 'A delivery is dead only when it has gone past its limit.',
    edits: [
      {
        file: applyFile,
        find: 'saga.attempt_count >= coalesce(',
        replace: 'saga.attempt_count > coalesce(',
      },
    ],
    test: orchestrate(
      '[S17, S14, D3] failures are retried by the formula and end as a dead letter at the limit',
    ),
  },
  {
    id: 'dead-letter-in-a-second-transaction',
    rules: ['S17', 'D3'],
    breaks: 'The failure commits before its dead letter is written, so that a crash comes between them.',
    edits: [
      {
        file: applyFile,
        find: '        await client.query(inRange(deadLetter, range), [',
        replace: `        await client.query('COMMIT')
        await client.query('BEGIN')
        await client.query(inRange(deadLetter, range), [`,
      },
    ],
    test: orchestrate('[S17, D3] a dead letter that cannot be written leaves the result to be applied'),
  },
  {
    id: 'error-kept-after-success',
    rules: ['S18'],
    breaks: 'A delivery that succeeded after a failure keeps the error of that failure.',
    edits: [
      {
        file: applyFile,
        find: 'final_error_code = CASE WHEN succeeded THEN NULL ELSE error_code END',
        replace: 'final_error_code = coalesce(error_code, final_error_code)',
      },
    ],
    test: orchestrate('[S13, S18, S4] a success completes the delivery, counts once, and clears the error'),
  },
  {
    id: 'end-not-waited-for',
    rules: ['S22'],
    breaks: 'The commit that ends deliveries does not wait for the disk.',
    edits: [
      {
        file: applyFile,
        find: 'return await inTransaction(pool, async (client) => {',
        replace: `return await inTransaction(pool, async (client) => {
      await client.query('SET LOCAL synchronous_commit = off')`,
      },
    ],
    test: testsOf('test/database/durability.slow.test.ts')(
      '[S22, J10] reported and applied results survive a kill of the server',
    ),
  },
]
