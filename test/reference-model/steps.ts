import fc from 'fast-check'
import type { Fault } from './faulty-pool.js'

/** What a receiver does with a request. */
export type Answer = '200' | '400' | '500' | '410' | '503' | '503 in 10 minutes' | '503 in 3 days' | 'hangs'

/** One call of one part. Numbers choose among what there is at that moment, so that any list of steps can be run. */
export type Operation =
  /** A batch may have others with it, without keys. */
  | { do: 'publish'; type: number; keyed: boolean; how: 'batch' | 'transaction'; others: number }
  | { do: 'republish'; which: number; other: boolean; how: 'batch' | 'transaction' }
  | { do: 'change'; which: number; to: 'off' | 'on' | 'moved' | 'limit 1' | 'limit 2' | 'no limit' }
  | { do: 'verify'; which: number }
  | { do: 'remove'; which: number }
  | { do: 'switch off the gone' }
  /** No more than `room` deliveries at once. */
  | { do: 'route'; router: number; most: number; room?: number }
  | { do: 'spread'; router: number; room: number }
  | { do: 'apply'; most: number }
  | { do: 'make'; most: number }
  | { do: 'claim'; worker: number; most: number }
  | { do: 'report'; which: number; how: 'one' | 'all' | 'again' }
  | { do: 'give back'; which: number }
  /** What was leased by claims whose answer the worker did not get. */
  | { do: 'recover'; worker: number }
  | { do: 'clean'; most: number }
  | { do: 'requeue'; which: number }
  | { do: 'forget keys' }
  /** What a worker was told not to send. */
  | { do: 'put aside'; which: number }
  | { do: 'stop jobs'; worker: number; which: 'free' | 'held' | 'cancelled' }
  | { do: 'end stopped' }
  | { do: 'cancel'; which: number }

export interface Subscribe {
  subscribe: number
  limit: number | null
  verified: boolean
  fault: Fault
}

export type Step =
  | { call: Operation; fault: Fault }
  /** At once, each on connections of its own. */
  | { both: [Operation, Operation] }
  | Subscribe
  /** The paused operation continues, or dies. */
  | { release: true }
  | { respond: number; answer: Answer }
  /** A worker's process is killed: what it held, sent or not, is forgotten. */
  | { kill: number }
  | { wait: Wait }
  /** A superuser writes what no rule allows. */
  | { meddle: number }
  /** A superuser queues an event, or a job, once more. */
  | { queueAgain: number }
  /** One round of every part, each delivery answered so; the fault is for whoever applies the results. */
  | { round: Answer; fault: Fault }
  /** Rows of several sizes in both queues, oldest small: taken under the limit; the fault is for who takes the results. */
  | { pile: Answer; most: number; fault: Fault }
  /** So many events more, routed and with jobs. */
  | { offer: number }
  /** All leases run out, and the worker takes over what others still believe to hold. */
  | { takeOver: number }

export const waits = { '1 second': 1_000, '30 seconds': 30_000, '1 minute': 61_000, '2 days': 172_800_000 }
type Wait = keyof typeof waits

const index = fc.nat({ max: 11 })
const most = fc.constantFrom(100, 1, 2)
/** Deliveries of one transaction of the router. */
const room = fc.constantFrom(100, 1, 2, 3)
const how = fc.constantFrom('batch', 'transaction')

const operations = {
  publish: fc.record({
    do: fc.constant('publish'),
    type: fc.nat({ max: 1 }),
    keyed: fc.boolean(),
    how,
    others: fc.constantFrom(0, 0, 1, 2),
  }),
  republish: fc.record({ do: fc.constant('republish'), which: index, other: fc.boolean(), how }),
  change: fc.record({
    do: fc.constant('change'),
    which: index,
    to: fc.constantFrom('off', 'off', 'on', 'on', 'moved', 'limit 1', 'limit 2', 'no limit'),
  }),
  verify: fc.record({ do: fc.constant('verify'), which: index }),
  remove: fc.record({ do: fc.constant('remove'), which: index }),
  gone: fc.constant({ do: 'switch off the gone' }),
  route: fc.record({ do: fc.constant('route'), router: fc.nat({ max: 1 }), most, room }),
  spread: fc.record({ do: fc.constant('spread'), router: fc.nat({ max: 1 }), room }),
  apply: fc.record({ do: fc.constant('apply'), most }),
  make: fc.record({ do: fc.constant('make'), most }),
  claim: fc.record({ do: fc.constant('claim'), worker: fc.nat({ max: 1 }), most }),
  report: fc.record({
    do: fc.constant('report'),
    which: index,
    how: fc.constantFrom('one', 'one', 'all', 'again'),
  }),
  giveBack: fc.record({ do: fc.constant('give back'), which: index }),
  recover: fc.record({ do: fc.constant('recover'), worker: fc.nat({ max: 1 }) }),
  clean: fc.record({ do: fc.constant('clean'), most }),
  requeue: fc.record({ do: fc.constant('requeue'), which: index }),
  forget: fc.constant({ do: 'forget keys' }),
  putAside: fc.record({ do: fc.constant('put aside'), which: index }),
  stopJobs: fc.record({
    do: fc.constant('stop jobs'),
    worker: fc.nat({ max: 1 }),
    which: fc.constantFrom('free', 'held', 'cancelled'),
  }),
  endStopped: fc.constant({ do: 'end stopped' }),
  cancel: fc.record({ do: fc.constant('cancel'), which: index }),
} as unknown as Record<string, fc.Arbitrary<Operation>>

const weigh = (weights: Record<string, number>): fc.Arbitrary<Operation> =>
  fc.oneof(
    ...Object.entries(weights).map(([name, weight]) => ({
      arbitrary: operations[name] as fc.Arbitrary<Operation>,
      weight,
    })),
  )

const operation = weigh({
  publish: 8,
  republish: 4,
  change: 4,
  verify: 1,
  remove: 1,
  gone: 2,
  route: 8,
  spread: 5,
  apply: 9,
  make: 9,
  claim: 9,
  report: 9,
  giveBack: 1,
  recover: 3,
  clean: 6,
  requeue: 5,
  forget: 1,
  putAside: 3,
  stopJobs: 5,
  endStopped: 3,
  cancel: 3,
})

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { arbitrary: fc.constant<Fault>({ kind: 'none' }), weight: 8 },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('crash' as const, 'cut' as const),
      at: fc.nat({ max: 4 }),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('hold' as const),
      at: fc.constantFrom('locked' as const, 'commit' as const),
      end: fc.constantFrom('commit' as const, 'commit' as const, 'crash' as const),
    }),
    weight: 3,
  },
)

const answer = fc.constantFrom<Answer[]>(
  '200',
  '400',
  '500',
  '500',
  '410',
  '503',
  '503 in 10 minutes',
  '503 in 3 days',
  'hangs',
)

/** The same operation twice is what two processes of one part do; the second has a worker, or router, of its own. */
const twice = operation.map((a): [Operation, Operation] => {
  if ('worker' in a) return [a, { ...a, worker: 1 - a.worker }]
  return 'router' in a ? [a, { ...a, router: 1 - a.router }] : [a, { ...a }]
})
const pair = fc.tuple(operation, operation).map(([a, b]): [Operation, Operation] => {
  if ('worker' in a && 'worker' in b) return [a, { ...b, worker: 1 - a.worker }]
  return 'router' in a && 'router' in b ? [a, { ...b, router: 1 - a.router }] : [a, b]
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ call: operation, fault }), weight: 45 },
  { arbitrary: fc.record({ both: twice }), weight: 6 },
  { arbitrary: fc.record({ both: pair }), weight: 6 },
  {
    arbitrary: fc.record({
      subscribe: fc.nat({ max: 1 }),
      limit: fc.constantFrom(null, 1, 2),
      verified: fc.constantFrom(true, true, false),
      fault,
    }),
    weight: 2,
  },
  { arbitrary: fc.constant<Step>({ release: true }), weight: 3 },
  { arbitrary: fc.record({ respond: index, answer }), weight: 14 },
  { arbitrary: fc.record({ kill: fc.nat({ max: 1 }) }), weight: 1 },
  {
    arbitrary: fc.record({
      wait: fc.constantFrom<Wait[]>('1 second', '30 seconds', '1 minute', '1 minute', '2 days'),
    }),
    weight: 8,
  },
  { arbitrary: fc.record({ round: answer, fault }), weight: 7 },
  { arbitrary: fc.record({ pile: answer, most, fault }), weight: 4 },
  { arbitrary: fc.record({ offer: fc.integer({ min: 1, max: 3 }) }), weight: 6 },
  { arbitrary: fc.record({ takeOver: fc.nat({ max: 1 }) }), weight: 4 },
  { arbitrary: fc.record({ meddle: fc.nat({ max: 40 }) }), weight: 2 },
  { arbitrary: fc.record({ queueAgain: fc.nat({ max: 60 }) }), weight: 5 },
)

export const stepLists: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 50, size: 'max' })

/** One line for each step, as a person would say it. */
export function describeStep(step: Step): string {
  if ('call' in step) return `${describeOperation(step.call)}${describeFault(step.fault)}`
  if ('both' in step) return `at once: ${step.both.map(describeOperation).join(' | ')}`
  if ('subscribe' in step) {
    const { subscribe, limit, verified, fault } = step
    return `subscribe to type ${subscribe}, limit ${limit}${verified ? '' : ', unverified'}${describeFault(fault)}`
  }
  if ('respond' in step) return `receiver of request ${step.respond}: ${step.answer}`
  if ('kill' in step) return `kill worker ${step.kill}`
  if ('wait' in step) return `wait ${step.wait}`
  if ('pile' in step) {
    return `pile up rows, answered ${step.pile}, taken by ${step.most}${describeFault(step.fault)}`
  }
  if ('offer' in step) return `offer ${step.offer} deliveries more`
  if ('takeOver' in step) return `leases run out, worker ${step.takeOver} takes over`
  if ('meddle' in step) return `meddle with row ${step.meddle}`
  if ('queueAgain' in step) return `queue event or job ${step.queueAgain} once more`
  if ('round' in step) return `a round of all parts, answered ${step.round}${describeFault(step.fault)}`
  return 'release what stands still'
}

function describeOperation({ do: verb, ...rest }: Operation): string {
  const details = Object.entries(rest).map(([name, value]) => `${name} ${value}`)
  return details.length > 0 ? `${verb} (${details.join(', ')})` : verb
}

function describeFault(fault: Fault): string {
  if (fault.kind === 'none') return ''
  if (fault.kind === 'hold') return ` — stands still when ${fault.at}, then ${fault.end}`
  return ` — ${fault.kind} ${fault.when} statement ${fault.at}`
}
