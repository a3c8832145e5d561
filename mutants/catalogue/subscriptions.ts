import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { tables, testsOf } from './named-tests.js'

const schemaTests = testsOf('test/schema/subscriptions.test.ts')

export const subscriptions: readonly Mutant[] = [
  {
    id: 'callback-url-shorter',
    rules: ['U1'],
    breaks: 'A callback URL has room for 255 characters instead of 500.',
    edits: [{ file: schema.subscriptions, find: 'varchar(500) NOT NULL', replace: 'varchar(255) NOT NULL' }],
    test: tables,
  },
  {
    id: 'verification-starts-deliveries',
    rules: ['U2'],
    breaks: 'A verification routes the events of its type that were published before, once more.',
    edits: [
      {
        file: schema.routing,
        append: `CREATE OR REPLACE FUNCTION sagapost.confirm_verification(subscription_id bigint, challenge text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH confirmed AS (
    UPDATE sagapost.subscriptions
    SET verified = true, active = true, verification_challenge = NULL, deactivation_reason = NULL
    WHERE id = subscription_id AND verification_challenge = challenge AND deleted_at IS NULL
    RETURNING id, event_type
  ), queued AS (
    INSERT INTO sagapost.event_routing_queue (event_type, event_ids)
    SELECT event.event_type, ARRAY[event.id] FROM sagapost.events AS event JOIN confirmed USING (event_type)
  )
  SELECT EXISTS (SELECT FROM confirmed)
$$;`,
      },
    ],
    test: schemaTests('[U2] delivers nothing of what was published before'),
  },
  {
    id: 'http-url-in-the-database',
    rules: ['U3'],
    breaks: 'The database takes callback URLs without TLS.',
    edits: [
      {
        file: schema.subscriptions,
        find: `callback_url ~* '^https://`,
        replace: `callback_url ~* '^https?://`,
      },
    ],
    test: schemaTests('[U3] %j is refused'),
  },
  {
    id: 'http-url-in-the-api',
    rules: ['U3'],
    breaks: 'The API’s own check takes callback URLs without TLS.',
    edits: [
      {
        file: 'src/webhook/parse-callback-url.ts',
        find: `url.protocol !== 'https:' || !/^https:\\/\\/[^/]/i.test(text)`,
        replace: `!/^https?:\\/\\/[^/]/i.test(text)`,
      },
    ],
    test: testsOf('test/webhook/guard.test.ts')('%j is refused: %s'),
  },
  {
    id: 'any-challenge-verifies',
    rules: ['U4'],
    breaks: 'A verification is confirmed by any challenge, not only by the one that was sent.',
    edits: [
      {
        file: schema.subscriptions,
        find: 'WHERE id = subscription_id AND verification_challenge = challenge AND deleted_at IS NULL',
        replace: 'WHERE id = subscription_id AND challenge IS NOT NULL AND deleted_at IS NULL',
      },
    ],
    test: schemaTests('[U4] verifies and activates when the challenge comes back, once'),
  },
  {
    id: 'challenge-outlives-its-url',
    rules: ['U4'],
    breaks: 'A challenge that was sent to the old URL verifies the new one.',
    edits: [{ file: schema.subscriptions, find: '  NEW.verification_challenge := NULL;\n', replace: '' }],
    test: schemaTests('[U4] is void when the URL changed while the challenge was under way'),
  },
  {
    id: 'echo-verifies',
    rules: ['U4'],
    breaks: 'A receiver that only repeats the request passes the verification.',
    edits: [
      {
        file: 'src/subscriptions/answers-challenge.ts',
        find: 'if (text === challenge) return true',
        replace: 'if (text.includes(challenge)) return true',
      },
    ],
    test: testsOf('test/subscriptions/verify-subscription.test.ts')(
      '[U4] fails with its reason when the answer is %s',
    ),
  },
  {
    id: 'inactive-gets-deliveries',
    rules: ['U5', 'R2'],
    breaks: 'Subscriptions that are verified get deliveries, also when they are switched off.',
    edits: [
      {
        file: 'src/delivery/router/subscription-cache.ts',
        find: 'WHERE active AND verified',
        replace: 'WHERE verified',
      },
    ],
    test: testsOf('test/delivery/router/route-events.test.ts')(
      '[R2, U5] makes one delivery for each active and verified subscription of the type, and for no other',
    ),
  },
  {
    id: 'late-410-counts',
    rules: ['U5'],
    breaks: 'A subscription that was changed after the 410 of its old URL is switched off for it.',
    edits: [
      {
        file: 'src/subscriptions/deactivate-subscription.ts',
        find: 'AND ($3::timestamptz IS NULL OR updated_at <= $3)',
        replace: 'AND ($3::timestamptz IS NULL OR created_at <= $3)',
      },
    ],
    test: testsOf('test/subscriptions/change-subscription.test.ts')(
      '[U5] leaves a subscription alone that was changed after the observation',
    ),
  },
  {
    id: 'active-without-verification',
    rules: ['U6'],
    breaks: 'The database accepts an active subscription that was never verified.',
    edits: [
      {
        file: schema.subscriptions,
        find: '  CONSTRAINT subscriptions_active_needs_verified CHECK (verified OR NOT active),\n',
        replace: '',
      },
    ],
    test: schemaTests('[U6] active is never true while verified is false'),
  },
  {
    id: 'new-url-stays-verified',
    rules: ['U6', 'U4'],
    breaks: 'Another URL is taken for the same one when its host is the same.',
    edits: [
      {
        file: schema.subscriptions,
        find: `  FOR EACH ROW WHEN (OLD.callback_url IS DISTINCT FROM NEW.callback_url)
  EXECUTE FUNCTION sagapost.void_verification();`,
        replace: `  FOR EACH ROW WHEN (split_part(OLD.callback_url, '/', 3) IS DISTINCT FROM split_part(NEW.callback_url, '/', 3))
  EXECUTE FUNCTION sagapost.void_verification();`,
      },
    ],
    test: testsOf('test/subscriptions/change-subscription.test.ts')(
      '[U4, U6] of any character of the URL revokes them: %s',
    ),
  },
]
