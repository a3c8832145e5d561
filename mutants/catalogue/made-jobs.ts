import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { madeJobs } from './named-tests.js'

const byStatement = madeJobs('[S16, J3] is refused $what')

/** The look at every job that is made. */
export const madeJobsMutants: readonly Mutant[] = [
  {
    id: 'job-of-ended-delivery',
    rules: ['S16', 'S19'],
    breaks: 'A delivery that has ended gets a job.',
    edits: [
      {
        file: schema.jobs,
        find: " AND saga.status = 'InProgress'\n    AND NOT EXISTS",
        replace: '\n    AND NOT EXISTS',
      },
    ],
    test: madeJobs('[S16, S19] is refused for a delivery that is %s, for every role'),
  },
  {
    id: 'job-in-statement-of-the-end',
    rules: ['S16', 'S19'],
    breaks: 'The statement that ends a delivery makes a job for it.',
    edits: [
      { file: schema.jobs, find: " AND saga.status = 'InProgress' AND saga.xmin", replace: ' AND saga.xmin' },
    ],
    test: byStatement,
  },
  {
    id: 'job-of-other-subscription',
    rules: ['S16', 'J3'],
    breaks: 'A job may be made for another subscription than its delivery has.',
    edits: [
      { file: schema.jobs, find: 'WHERE saga.subscription_id = made.subscription_id AND', replace: 'WHERE' },
    ],
    test: byStatement,
  },
  {
    id: 'job-of-delivery-just-ended',
    rules: ['S19'],
    breaks: 'A delivery that another transaction is ending gets a job.',
    edits: [{ file: schema.jobs, find: '\n  FOR SHARE;', replace: ';' }],
    test: madeJobs('[S19] waits for another transaction that ends the delivery, and is then refused'),
  },
  {
    id: 'job-beside-unapplied-result',
    rules: ['S16'],
    breaks: 'A delivery gets a second job while the result of the first waits to be applied.',
    edits: [
      { file: schema.jobs, find: 'AND job.attempt > saga.attempt_count)', replace: 'AND job.attempt < 0)' },
    ],
    test: madeJobs('[S16] is refused for a delivery that has one whose result is not applied'),
  },
  {
    id: 'job-of-past-attempt',
    rules: ['S4', 'S9', 'S16'],
    breaks: 'A delivery that its transaction has moved gets a job whose result counts as applied.',
    edits: [{ file: schema.jobs, find: '\n    AND saga.attempt_count + 1 = made.attempt;', replace: ';' }],
    test: madeJobs('[S4, S9, S16] is refused for another attempt than the next one'),
  },
  {
    id: 'job-of-other-attempt-by-itself',
    rules: ['S4', 'S9', 'S16'],
    breaks: 'A delivery that was moved before gets a job whose result counts as applied, or never.',
    edits: [{ file: schema.jobs, find: ' AND saga.attempt_count + 1 = made.attempt AND', replace: ' AND' }],
    test: madeJobs('[S4, S9, S16] is refused for another attempt than the next one'),
  },
  {
    id: 'dead-with-a-job',
    rules: ['S19', 'D3'],
    breaks: 'A delivery is dead-lettered while a job of it may still be sent.',
    edits: [
      {
        file: schema.deadLetters,
        find: " AND status IN ('Pending', 'Leased')\n  ) THEN",
        replace: ' AND false\n  ) THEN',
      },
    ],
    test: madeJobs('[S19] is not dead-lettered while a job of it is %s'),
  },
  {
    id: 'job-in-later-partition-unchecked',
    rules: ['S16'],
    breaks: 'Jobs that are inserted straight into a partition made later are not looked at.',
    edits: [
      {
        file: schema.partitions,
        find: "    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_fits_delivery', partition);\n  END IF;",
        replace: "    EXECUTE format('DROP TRIGGER job_fits_delivery ON sagapost.%I', partition);\n  END IF;",
      },
    ],
    test: madeJobs('[S16] is refused straight into a partition, one that is made later included'),
  },
  {
    id: 'job-in-first-partitions-unchecked',
    rules: ['S16'],
    breaks: 'Jobs that are inserted straight into one of the first partitions are not looked at.',
    edits: [
      {
        file: schema.partitions,
        append: 'DROP TRIGGER job_fits_delivery ON sagapost.webhook_delivery_jobs_from_0;',
      },
    ],
    test: madeJobs('[S16] is refused straight into a partition, one that is made later included'),
  },
]
