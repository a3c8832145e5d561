import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { orchestrate, testsOf } from './named-tests.js'

const waiting = testsOf('test/delivery/worker/stopped-while-waiting.test.ts')
const stopSending = testsOf('test/runtime/stop-sending.test.ts')
const switchesFile = 'src/delivery/worker/switches.ts'
const endsAsDeadLetters = stopSending(
  '[S5, S15, S17, D3] gets only requests already under way: everything open ends as dead letters',
)
const isHeld = stopSending(
  '[U5, S13, J12] has its open deliveries held without using attempts; they continue when it is active again',
)
const isCancelled = stopSending(
  '[S5, S17, D3, D4] ends as a dead letter in any state, is Completed if it arrives, and can be requeued',
)

const asideTests = testsOf('test/delivery/worker/put-aside.test.ts')

/** Sending that goes on although it was to stop, or does not go on although it was to. */
export const stops: readonly Mutant[] = [
  {
    id: 'deleted-still-sent',
    rules: ['S15', 'S17'],
    breaks: 'What was claimed before its subscription was deleted is sent when its turn comes.',
    edits: [
      {
        file: switchesFile,
        find: 'await options.giveBack(options.withdraw(isStopped))',
        replace:
          'await options.giveBack(options.withdraw((job) => isStopped(job) && !known.deleted.has(job.subscriptionId)))',
      },
    ],
    test: endsAsDeadLetters,
  },
  {
    id: 'deleted-waits-for-its-retry',
    rules: ['S15'],
    breaks: 'Deliveries of a deleted subscription that wait for a retry wait until it is due.',
    edits: [
      {
        file: 'src/delivery/orchestrator/end-stopped.ts',
        find: 'subscription.deleted_at IS NOT NULL\n    JOIN',
        replace: 'subscription.deleted_at > sagapost.now()\n    JOIN',
      },
    ],
    test: stopSending(
      '[S15, S17, J11] ends a waiting retry at once, and a failure under way with it; rows and log name the last job',
    ),
  },
  {
    id: 'deleted-is-retried',
    rules: ['S12', 'S15'],
    breaks: 'A failure that is reported after the deletion of its subscription leads to another attempt.',
    edits: [
      {
        file: 'src/delivery/orchestrator/apply-results.ts',
        find: 'dead || stop !== null',
        replace: 'dead',
      },
    ],
    test: orchestrate('[S14, S15, S17] matches the SQL on random histories'),
  },
  {
    id: 'disabled-still-sent',
    rules: ['U5', 'J12'],
    breaks: 'Free jobs of an inactive subscription are sent like any others.',
    edits: [
      {
        file: 'src/delivery/worker/stop.ts',
        find: `WHEN NOT \${subscription}.active THEN 'held'`,
        replace: `WHEN false THEN 'held'`,
      },
    ],
    test: isHeld,
  },
  {
    id: 'held-for-ever',
    rules: ['U5'],
    breaks: 'What was held stays so when its subscription is active again.',
    edits: [
      {
        file: switchesFile,
        find: 'const switched = [...on, ...deleted]',
        replace: 'const switched = [...deleted]',
      },
    ],
    test: isHeld,
  },
  {
    id: 'switch-is-not-noted',
    rules: ['U5'],
    breaks: 'A subscription that is switched on or off leaves no note; only a deletion does.',
    edits: [
      {
        file: schema.pausesAndStops,
        find: 'WHEN (OLD.active IS DISTINCT FROM NEW.active OR OLD.deleted_at',
        replace: 'WHEN (OLD.deleted_at',
      },
    ],
    test: isHeld,
  },
  {
    id: 'cancelled-still-sent',
    rules: ['S5', 'S17'],
    breaks: 'A cancelled delivery is sent when its turn comes.',
    edits: [
      {
        file: switchesFile,
        find: 'known.cancelled.has(job.deliveryId)',
        replace: 'known.cancelled.has(`-${job.deliveryId}`)',
      },
    ],
    test: isCancelled,
  },
  {
    id: 'cancelled-job-is-not-found',
    rules: ['S5'],
    breaks: 'A cancelled delivery whose job is held stays open.',
    edits: [
      {
        file: 'src/delivery/worker/take-stopped.ts',
        find: `ARRAY[cancellation.saga_id]) AND job.status = 'Pending'`,
        replace: `ARRAY[cancellation.saga_id]) AND job.status = 'Pending' AND job.lease_until <= sagapost.now()`,
      },
    ],
    test: stopSending('[S5, D3] ends although its subscription is inactive'),
  },
  {
    id: 'lowered-limit-logged-bare',
    rules: ['J11', 'S15'],
    breaks: 'A dead letter by a lowered limit is logged without its job, its worker and its lease.',
    edits: [
      {
        file: 'src/delivery/orchestrator/start-orchestrator.ts',
        find: '      counter.countDead(delivery.subscriptionId)\n      bury(delivery)',
        replace: `      counter.countDead(delivery.subscriptionId)
      const { jobId: _, workerId: __, leaseExpiration: ___, ...bare } = delivery
      bury(bare as DeadDelivery)`,
      },
    ],
    test: stopSending(
      '[S15, J11] a limit lowered while a delivery waits: the dead letter and the log name its last job',
    ),
  },
  {
    id: 'large-payload-outlives-its-subscription',
    rules: ['S17', 'J7'],
    breaks:
      'A large payload that waited for its turn is sent although its subscription was deleted meanwhile.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: ' || options.isStopped(job)',
        replace: '',
      },
    ],
    test: waiting(
      '[J7, S17] a large payload that waits for its turn is not sent once its subscription is deleted',
    ),
  },
  {
    id: 'unread-payload-keeps-its-lease',
    rules: ['J8'],
    breaks: 'A job whose payload could not be read waits for its lease.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: '      await giveBack([job])\n      throw error\n    })\n    if (outcome === null)',
        replace: '      throw error\n    })\n    if (outcome === null)',
      },
    ],
    test: waiting('[J8] a job whose payload could not be read is given back, and uses up no lease'),
  },
  {
    id: 'sent-job-holds-up-retries',
    rules: ['S10', 'R1'],
    breaks:
      'A delivery that waits beside a job of its own is refused with every batch, and all others with it.',
    edits: [
      {
        file: 'src/delivery/orchestrator/make-jobs.ts',
        find: '` AND ${hasEvent} AND ${hasNoActiveJob}`',
        replace: '` AND ${hasEvent}`',
      },
    ],
    test: waiting(
      '[S10, S12, R1] a delivery that waits although its job may still be sent delays no other, with a limit of %s',
    ),
  },
  {
    id: 'sent-job-holds-up-ends',
    rules: ['S12', 'R1'],
    breaks:
      'A delivery that is to be ended beside a job of its own is refused with every batch, and all others with it.',
    edits: [
      {
        file: 'src/delivery/orchestrator/end-stopped.ts',
        find: ' AND ${hasNoActiveJob}\n',
        replace: '\n',
      },
    ],
    test: waiting(
      '[S10, S12, R1] a delivery that waits although its job may still be sent delays no other, with a limit of %s',
    ),
  },
  {
    id: 'put-aside-for-ever',
    rules: ['U5'],
    breaks: 'A subscription whose jobs were being put aside is left out of claims after it is active again.',
    edits: [
      {
        file: 'src/delivery/worker/switches.ts',
        find: '    if (lookedUntil.size === 0) busy = new Set()\n',
        replace: '',
      },
    ],
    test: waiting(
      '[U5] a subscription that is active again while its jobs are being put aside is claimed again',
    ),
  },
  {
    id: 'switch-forgotten-too-early',
    rules: ['U5'],
    breaks: 'A switch is forgotten although a job is held that is to go on.',
    edits: [
      {
        file: 'src/delivery/worker/read-switches.ts',
        find: 'subscription.active OR subscription.deleted_at',
        replace: 'false AND subscription.deleted_at',
      },
    ],
    test: waiting('[U5] a deactivation is not forgotten while a job is held that is to continue'),
  },
  {
    id: 'lost-event-stops-retries',
    rules: ['S12'],
    breaks: 'A stopped delivery whose event is gone holds up every retry.',
    edits: [
      {
        file: 'src/delivery/orchestrator/make-jobs.ts',
        find: 'retryThose(` AND ${hasEvent} AND ${hasNoActiveJob}`)',
        replace: 'retryThose(` AND ${hasNoActiveJob}`)',
      },
    ],
    test: waiting('[S12, S17, R1] a stopped delivery whose event is missing delays no other'),
  },
  {
    id: 'put-aside-without-its-lease',
    rules: ['J5', 'J12'],
    breaks: 'A job that is put aside once more is changed, though another worker has it now.',
    edits: [
      {
        file: 'src/delivery/worker/put-aside.ts',
        find: `AND job.lease_token = taken.token AND job.status::text = 'Leased'`,
        replace: `AND job.status::text = 'Leased'`,
      },
    ],
    test: asideTests('[J5, J12] a job that is put aside twice is put aside once: %s'),
  },
]
