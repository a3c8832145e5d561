import { randomUUID } from 'node:crypto'
import { resetLeases } from '../../src/delivery/cleaner/reset-leases.js'
import { claimJobs } from '../../src/delivery/worker/claim-jobs.js'
import { releaseClaims } from '../../src/delivery/worker/release-claims.js'
import { releaseJobs } from '../../src/delivery/worker/release-jobs.js'
import { reportResults } from '../../src/delivery/worker/report-results.js'
import { toReport } from '../../src/delivery/worker/translate-job.js'
import { wholeWindow } from '../support/whole-window.js'
import { planClaim, planClean, planGiveBack, planRecover, planReport } from './job-rules.js'
import type { Model } from './model.js'
import { get } from './plan.js'
import { settings } from './rules.js'
import type { Operation } from './steps.js'
import { type Call, type Holding, observeValue, pick, type World } from './world.js'

type JobOperation = Operation & { do: 'claim' | 'report' | 'give back' | 'recover' | 'clean' }

const workerIds = ['worker-a', 'worker-b'] as const
export const workerId = (worker: number): string => workerIds[worker] as string

/** What it held, sent or not, is no longer held. */
export function killWorker(world: World, worker: number): void {
  world.holdings = world.holdings.filter((holding) => holding.worker !== worker)
  world.unanswered = world.unanswered.filter((claim) => claim.worker !== worker)
}

/** The workers' and the cleaner's calls. */
export function bindJobOperation(world: World, operation: JobOperation, shared: boolean): Call | null {
  const { range } = world
  switch (operation.do) {
    case 'claim':
      return bindClaim(world, operation, shared)
    case 'report':
      return bindReport(world, operation)
    case 'give back': {
      const holding = pick(
        world.holdings.filter(({ outcome }) => outcome === null),
        operation.which,
      )
      if (!holding) return null
      const { name, job } = holding
      return {
        operation,
        role: 'job_worker',
        run(pool) {
          // Whatever comes of it: a worker does not send what it has given back.
          world.holdings = world.holdings.filter((each) => each !== holding)
          return releaseJobs(pool, [job], wholeWindow)
        },
        plans: () => [planGiveBack({ job: name, token: job.leaseToken })],
        observe: observeValue(() => ({})),
        forget: () => killWorker(world, holding.worker),
        waits: waitsFor([holding]),
        canHold: true,
      }
    }
    case 'recover': {
      const { worker } = operation
      const tokens = new Set(
        world.unanswered.filter((claim) => claim.worker === worker).map(({ token }) => token),
      )
      return {
        operation,
        role: 'job_worker',
        run: (pool) => releaseClaims(pool, range, [...tokens]),
        plans: () => [planRecover(tokens)],
        observe: observeValue((found: string[]) => ({ recovered: found.length })),
        forget: () => killWorker(world, worker),
        waits: ({ jobs, locked }) =>
          [...jobs].some(
            ([name, { status, token }]) =>
              status === 'Leased' && token !== null && tokens.has(token) && locked.has(`job ${name}`),
          ),
        canHold: true,
      }
    }
    case 'clean': {
      const { most } = operation
      return {
        operation,
        role: 'job_worker',
        run: (pool) => resetLeases(pool, { range, batchMax: most, lostLeasesMax: settings.lostLeasesMax }),
        plans: () => [planClean(most, shared)],
        observe: (ending, look) =>
          observeValue((resets: Awaited<ReturnType<typeof resetLeases>>) => ({
            reset: resets.map(({ jobId }) => look.jobNames.get(jobId)).sort(),
          }))(ending, look),
        canHold: true,
      }
    }
  }
}

function bindClaim(world: World, operation: Operation & { do: 'claim' }, shared: boolean): Call {
  const { worker, most } = operation
  const leaseToken = randomUUID()
  return {
    operation,
    role: 'job_worker',
    run(pool) {
      world.unanswered.push({ worker, token: leaseToken })
      return claimJobs(pool, {
        range: world.range,
        batchMax: most,
        leaseMs: settings.leaseMs,
        workerId: workerId(worker),
        leaseToken,
        except: [],
      })
    },
    plans: () => [planClaim(workerId(worker), most, shared)],
    observe: (ending, look) =>
      observeValue(({ jobs }: Awaited<ReturnType<typeof claimJobs>>) => ({
        claimed: jobs.map(({ id, stop }) => `${look.jobNames.get(id)} ${stop}`).sort(),
      }))(ending, look),
    learn(ending, look) {
      if (!('value' in ending)) return
      world.unanswered = world.unanswered.filter(({ token }) => token !== leaseToken)
      for (const job of (ending.value as Awaited<ReturnType<typeof claimJobs>>).jobs) {
        const name = look.jobNames.get(job.id) as string
        world.holdings.push({ worker, job, name, outcome: null, reported: false })
      }
    },
    forget: () => killWorker(world, worker),
    canHold: true,
  }
}

function bindReport(world: World, operation: Operation & { do: 'report' }): Call | null {
  const { which, how } = operation
  // Again: also what the database has answered already, as a worker does that did not get the answer.
  const sent = world.holdings.filter(
    ({ outcome, reported }) => outcome !== null && (how === 'again' || !reported),
  )
  const one = pick(sent, which)
  if (!one) return null
  const holdings = how === 'all' ? sent.filter(({ worker }) => worker === one.worker) : [one]
  const reports = holdings.map(({ job, outcome }) =>
    toReport(job, outcome as NonNullable<Holding['outcome']>),
  )
  const told = holdings.map(({ name, job }, at) => ({
    job: name,
    token: job.leaseToken,
    error: reports[at]?.errorCode ?? null,
    response: reports[at]?.responseStatus ?? null,
    retryAfterS: reports[at]?.retryAfterS ?? null,
  }))
  return {
    operation,
    role: 'job_worker',
    run: (pool) => reportResults(pool, world.range, reports),
    plans: () => [planReport(told)],
    observe: (ending, look) =>
      observeValue((ids: Set<string>) => ({ accepted: [...ids].map((id) => look.jobNames.get(id)).sort() }))(
        ending,
        look,
      ),
    learn() {
      for (const holding of holdings) holding.reported = true
    },
    forget: () => killWorker(world, one.worker),
    waits: waitsFor(holdings),
    canHold: true,
  }
}

/** A job that is held under this very lease is waited for; one that is not is passed by. */
export const waitsFor =
  (holdings: readonly Holding[]) =>
  ({ jobs, locked }: Model): boolean =>
    holdings.some(({ name, job }) => {
      const { status, token } = get(jobs, name)
      return status === 'Leased' && token === job.leaseToken && locked.has(`job ${name}`)
    })
