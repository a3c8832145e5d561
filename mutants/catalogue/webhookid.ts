import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const idFile = 'src/model/webhook-id.ts'
const idTests = testsOf('test/model/webhook-id.test.ts')

/** The id that receivers drop repeated requests by. */
export const webhookIds: readonly Mutant[] = [
  {
    id: 'webhook-id-without-time',
    rules: ['J3'],
    breaks: 'The webhook id is the event id alone, which comes back after a restore.',
    edits: [
      {
        file: idFile,
        find: 'return `evt_${eventId}_${createdAtUs.toString(36)}`',
        replace: 'return `evt_${eventId}`',
      },
    ],
    test: testsOf('test/runtime/restored-database.test.ts')(
      '[J3] a receiver that drops the ids it has seen gets every event that is published after a restore',
    ),
  },
  {
    id: 'webhook-id-of-milliseconds',
    rules: ['J3'],
    breaks: 'The time in the webhook id is that of a JavaScript Date, in milliseconds.',
    edits: [
      {
        file: idFile,
        find: 'createdAtUs.toString(36)',
        replace: 'Math.floor(createdAtUs / 1e3).toString(36)',
      },
    ],
    test: idTests('[J3] is the event id and its time to the microsecond, exact until 2106'),
  },
  {
    id: 'webhook-id-of-the-attempt',
    rules: ['J3'],
    breaks: 'The webhook id has the time of the job instead of the event, and changes with every attempt.',
    edits: [
      {
        file: 'src/delivery/worker/claim-jobs.ts',
        find: 'webhookIdOf(row.event_id, row.event_at_us)',
        replace: 'webhookIdOf(row.event_id, row.free_since_ms * 1e3)',
      },
    ],
    test: testsOf('test/delivery/worker/jobs.test.ts')(
      '[J3] the webhook id is the same under every lease, for every attempt and every requeue',
    ),
  },
  {
    id: 'event-found-by-webhook-id-of-another',
    rules: ['J3'],
    breaks: 'A webhook id of a lost event finds the event that has its number now.',
    edits: [
      {
        file: 'src/delivery/reading/get-event.ts',
        find: '  if (![id, `evt_${id}`, event.webhookId].includes(idOrWebhookId)) return null\n',
        replace: '',
      },
    ],
    test: testsOf('test/delivery/reading/read-events.test.ts')(
      '[J3] is found by its webhook id, and not by that of an earlier event with the same id',
    ),
  },
]
