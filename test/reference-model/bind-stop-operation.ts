import { cancelDelivery } from '../../src/delivery/index.js'
import { endStopped, forgetEndedCancellations } from '../../src/delivery/orchestrator/end-stopped.js'
import { putAside } from '../../src/delivery/worker/put-aside.js'
import {
  letGoHeldJobs,
  type StoppedJob,
  stopCancelledJobs,
  stopFreeJobs,
} from '../../src/delivery/worker/take-stopped.js'
import { wholeWindow } from '../support/whole-window.js'
import { killWorker, waitsFor, workerId } from './bind-job-operation.js'
import { settings } from './rules.js'
import type { Operation } from './steps.js'
import { planCancel, planEndStopped, planForgetCancelled, planPutAside, planStopJobs } from './stop-rules.js'
import { type Call, observeValue, pick, type World } from './world.js'

type StopOperation = Operation & { do: 'put aside' | 'stop jobs' | 'end stopped' | 'cancel' }

/** The calls that stop deliveries. */
export function bindStopOperation(world: World, operation: StopOperation, shared: boolean): Call | null {
  switch (operation.do) {
    case 'put aside': {
      const holding = pick(
        world.holdings.filter(({ job }) => job.stop !== null),
        operation.which,
      )
      if (!holding) return null
      const { name, job } = holding
      return {
        operation,
        role: 'job_worker',
        run(pool) {
          world.holdings = world.holdings.filter((each) => each !== holding)
          return putAside(pool, [job], wholeWindow)
        },
        plans: () => [planPutAside(name, job.leaseToken, job.stop as string)],
        observe: observeValue(() => ({})),
        forget: () => killWorker(world, holding.worker),
        waits: waitsFor([holding]),
        canHold: true,
      }
    }
    case 'stop jobs':
      return bindStopJobs(world, operation, shared)
    case 'end stopped':
      return {
        operation,
        role: 'saga_orchestrator',
        async run(pool) {
          const ended = await endStopped(pool, { range: wholeWindow().fresh, batchMax: 100 })
          await forgetEndedCancellations(pool, wholeWindow())
          return ended
        },
        plans: () => [
          planEndStopped('subscription_deleted', shared),
          planEndStopped('cancelled', shared),
          planForgetCancelled,
        ],
        observe: observeValue((ended: Awaited<ReturnType<typeof endStopped>>) => {
          const count = (code: string) => ended.filter(({ errorCode }) => errorCode === code).length
          return { subscription_deleted: count('subscription_deleted'), cancelled: count('cancelled') }
        }),
        canHold: false,
      }
    case 'cancel': {
      const name = pick([...world.model.deliveries.keys()], operation.which)
      if (name === undefined) return null
      return {
        operation,
        role: 'dead_letter_operator',
        run: (pool) => cancelDelivery(pool, world.look.deliveries.get(name)?.id as string),
        plans: () => [planCancel(name)],
        observe: observeValue(() => ({ cancelled: true })),
        canHold: false,
      }
    }
  }
}

function bindStopJobs(world: World, operation: Operation & { do: 'stop jobs' }, shared: boolean): Call {
  const { worker, which } = operation
  const taking = {
    range: wholeWindow().fresh,
    batchMax: 100,
    leaseMs: settings.leaseMs,
    workerId: workerId(worker),
  }
  const idsOf = (wanted: (row: { active: boolean; deleted: boolean }) => boolean) =>
    [...world.model.subscriptions]
      .filter(([, row]) => wanted(row))
      .map(([name]) => world.look.subscriptionIds.get(name) as string)
  return {
    operation,
    role: 'job_worker',
    async run(pool) {
      // As they are when it begins; the statement goes by what the rows say then.
      if (which === 'free') {
        return (
          await stopFreeJobs(
            pool,
            taking,
            idsOf(({ active }) => !active),
            undefined,
          )
        ).jobs
      }
      if (which === 'cancelled') return stopCancelledJobs(pool, taking)
      return letGoHeldJobs(
        pool,
        taking,
        idsOf(({ active, deleted }) => active || deleted),
      )
    },
    plans: () => [planStopJobs(which, workerId(worker), shared)],
    observe: (ending, look) =>
      observeValue((jobs: StoppedJob[]) => ({
        stopped: jobs.map(({ id, stop }) => `${look.jobNames.get(id)} ${stop}`).sort(),
      }))(ending, look),
    forget: () => killWorker(world, worker),
    canHold: false,
  }
}
