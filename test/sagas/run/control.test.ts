import { describe, expect, it } from 'vitest'
import type { SagapostError } from '../../../src/errors/index.js'
import { type StateStorage, saga } from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { expectHistoryToReplay, historyOf } from '../history.js'
import { type StorageUnderTest, storages } from '../storages.js'
import { useCoordinators } from '../use-coordinators.js'

const fast = { backoff: 'fixed', initialInterval: '1ms', jitter: 'none', maxAttempts: 2 } as const
const who = { by: 'operator', reason: 'the customer asked' }

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

describe.each(Object.entries(storages))('on %s', (_, use) => {
  const under: StorageUnderTest = use()
  const { coordinate } = useCoordinators(under)
  const stateOf = async (id: string) => (await under.storage.getSaga(id))?.state
  const stepsOf = async (id: string) => (await under.storage.listSteps(id)).map(({ state }) => state)
  const codeOfRefusal = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: SagapostError) => error.code,
    )

  describe('cancel', () => {
    it('[G14] of a Pending saga ends it before it began', async () => {
      const definition = saga('cancel-pending').step('only', { run: () => 1 })
      const starter = coordinate([])
      const handle = await starter.start(definition, undefined)
      expect(await starter.cancel(handle.id, who)).toBe('requested')
      expect(await starter.cancel(handle.id, who)).toBe('already_requested')
      coordinate([definition])
      expect(await handle.result()).toMatchObject({
        state: 'Cancelled',
        startedAt: null,
        cancelRequestedBy: who.by,
        cancelReason: who.reason,
      })
      const [asked] = await under.storage.listEvents(handle.id)
      expect(asked).toMatchObject({
        type: 'state.changed',
        data: { action: 'cancel', by: who.by, why: who.reason },
      })
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14, G6] of a saga that never began ends it at once, even where no process has its definition', async () => {
      const definition = saga('cancel-unknown')
        .step('one', { run: () => 1 })
        .step('two', { run: () => 2 })
      const starter = coordinate([])
      const { id } = await starter.start(definition, undefined)
      expect(await starter.cancel(id, who)).toBe('requested')
      expect(await under.storage.getSaga(id)).toMatchObject({
        state: 'Cancelled',
        startedAt: null,
        completedAt: expect.any(Date),
        leaseOwner: null,
        wakeAt: null,
        error: { code: 'saga_cancelled' },
      })
      expect(await stepsOf(id)).toEqual(['Skipped', 'Skipped'])
      expect((await under.storage.listEvents(id)).map(({ type }) => type).at(-1)).toBe('saga.cancelled')
      await expectHistoryToReplay(under.storage, id)
      expect(await starter.cancel(id, who)).toBe('already_requested')
    })

    it('[G14] of a running one aborts the step, and undoes it and those before', async () => {
      const undone: string[] = []
      const definition = saga('cancel-running')
        .step('one', { run: () => 1, compensate: () => void undone.push('one') })
        .step('two', {
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          compensate: () => void undone.push('two'),
        })
        .step('three', { run: () => 3 })
      const handle = await coordinate([definition]).start(definition, undefined)
      await expect.poll(() => stepsOf(handle.id)).toEqual(['Completed', 'Running', 'Pending'])
      // Another process requests it: the holder learns of it through the storage.
      await coordinate([]).cancel(handle.id, who)
      expect((await handle.result()).state).toBe('Cancelled')
      expect(undone).toEqual(['two', 'one'])
      expect(await stepsOf(handle.id)).toEqual(['Compensated', 'Compensated', 'Skipped'])
      expect((await historyOf(under.storage, handle.id)).slice(-2)).toEqual([
        'compensation.completed',
        'saga.cancelled',
      ])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] of one that its coordinator released between two steps undoes the finished steps', async () => {
      const calls: string[] = []
      const { opened, open } = gate()
      const finish = gate()
      const definition = saga('cancel-between')
        .step('one', {
          run: () => {
            open()
            return finish.opened
          },
          compensate: () => void calls.push('undo one'),
        })
        .step('two', { run: () => void calls.push('two') })
      const first = coordinate([definition])
      const handle = await first.start(definition, undefined)
      await opened
      const stopped = first.stop()
      finish.open()
      await stopped
      expect(await under.storage.getSaga(handle.id)).toMatchObject({
        state: 'StepCompleted',
        leaseOwner: null,
      })
      const second = coordinate([])
      expect(await second.cancel(handle.id, who)).toBe('requested')
      coordinate([definition])
      await expect.poll(async () => (await under.storage.getSaga(handle.id))?.state).toBe('Cancelled')
      expect(calls).toEqual(['undo one'])
      expect(await stepsOf(handle.id)).toEqual(['Compensated', 'Skipped'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] keeps the output of a step that completes in spite of it', async () => {
      const undone: unknown[] = []
      const { opened, open } = gate()
      const definition = saga('cancel-late')
        .step('one', {
          run: ({ signal }) => {
            open()
            return new Promise((resolve) => signal.addEventListener('abort', () => resolve('made it')))
          },
          compensate: ({ output }) => void undone.push(output),
        })
        .step('two', { run: () => 2 })
      const coordinator = coordinate([definition])
      const handle = await coordinator.start(definition, undefined)
      await opened
      await coordinator.cancel(handle.id, who)
      expect((await handle.result()).state).toBe('Cancelled')
      expect(undone).toEqual(['made it'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    const later = { initialInterval: '1h', maxInterval: '1h', jitter: 'none' } as const
    const undoable = (undone: string[], name: string) => ({
      run: () => Promise.reject(new Error('later')),
      compensate: () => void undone.push(name),
    })

    it('[G14] of one that waits for a retry does not wait for it', async () => {
      const undone: string[] = []
      const definition = saga('cancel-waiting', { retry: later }).step('only', undoable(undone, 'only'))
      const coordinator = coordinate([definition])
      const handle = await coordinator.start(definition, undefined)
      await expect.poll(() => stepsOf(handle.id)).toEqual(['Failed'])
      await coordinator.cancel(handle.id, who)
      expect((await handle.result()).state).toBe('Cancelled')
      expect(undone).toEqual(['only'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] nor does a deadline', async () => {
      const undone: string[] = []
      const definition = saga('overdue-waiting', { retry: later, timeout: '10m' }).step(
        'only',
        undoable(undone, 'only'),
      )
      const coordinator = coordinate([definition])
      const handle = await coordinator.start(definition, undefined)
      await expect.poll(() => stepsOf(handle.id)).toEqual(['Failed'])
      await under.moveMs(600_001)
      coordinator.wake()
      expect((await handle.result()).state).toBe('TimedOut')
      expect(undone).toEqual(['only'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] nor does another branch that has failed for good', async () => {
      const undone: string[] = []
      const { opened, open } = gate()
      const definition = saga('branch-waiting', { retry: later }).parallel({
        patient: undoable(undone, 'patient'),
        broken: { run: () => opened.then(() => Promise.reject(new NonRetryableError('never'))) },
      })
      const handle = await coordinate([definition]).start(definition, undefined)
      await expect.poll(() => stepsOf(handle.id)).toEqual(['Failed', 'Running'])
      open()
      expect((await handle.result()).state).toBe('Compensated')
      expect(undone).toEqual(['patient'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] is too late for one that is being undone or finished, and changes nothing', async () => {
      const { opened, open } = gate()
      const definition = saga('cancel-undoing', { retry: { maxAttempts: 1 } }).step('only', {
        run: () => Promise.reject(new Error('no')),
        compensate: () => opened,
      })
      const coordinator = coordinate([definition])
      const handle = await coordinator.start(definition, undefined)
      await expect.poll(() => stepsOf(handle.id)).toEqual(['Compensating'])
      expect(await coordinator.cancel(handle.id, who)).toBe('too_late')
      open()
      expect((await handle.result()).state).toBe('Compensated')
      expect(await coordinator.cancel(handle.id, who)).toBe('too_late')
      expect(await codeOfRefusal(coordinator.cancel('nobody', who))).toBe('saga_not_found')
      expect(await codeOfRefusal(coordinator.cancel(handle.id, { by: '', reason: 'x' }))).toBe(
        'saga_resolution_invalid',
      )
      await expectHistoryToReplay(under.storage, handle.id)
    })
  })

  describe('a failed undo', () => {
    const stuck = async (name: string, compensation: 'reverse' | 'best_effort' | 'parallel' = 'reverse') => {
      const undone: string[] = []
      let broken = true
      const definition = saga(`${name}-${compensation}`, { retry: fast, compensation })
        .step('one', { run: () => 1, compensate: () => void undone.push('one') })
        .step('two', {
          run: () => 2,
          compensate: () => {
            if (broken) throw new Error('the bank is closed')
            undone.push('two')
          },
        })
        .step('three', { run: () => Promise.reject(new Error('no')), retry: { maxAttempts: 1 } })
      const coordinator = coordinate([definition])
      const handle = await coordinator.start(definition, undefined)
      const failed = await handle.result()
      expect(failed).toMatchObject({ state: 'Failed', awaitingOperator: true, leaseOwner: null })
      expect(failed.error?.message).toBe('the bank is closed')
      await expectHistoryToReplay(under.storage, handle.id)
      return { coordinator, handle, undone, mend: () => (broken = false) }
    }
    const word = (action: 'retry' | 'skip' | 'resolve') => ({
      action,
      by: 'operator',
      why: 'called the bank',
    })

    it('[G14, G6] is retried by policy, then waits for an operator; the order stops there', async () => {
      const { handle, undone } = await stuck('give-up')
      expect(undone).toEqual([])
      const history = await historyOf(under.storage, handle.id)
      expect(history.slice(history.indexOf('compensation.step.started 1'))).toEqual([
        'compensation.step.started 1',
        'compensation.step.failed 1',
        'retry.attempted 1',
        'compensation.step.started 1',
        'compensation.step.failed 1',
        'retry.exhausted 1',
        'compensation.failed',
        'saga.failed',
      ])
    })

    it.each(['best_effort', 'parallel'] as const)(
      '[G14] with %s the others are undone all the same',
      async (mode) => {
        const { handle, undone } = await stuck('others', mode)
        expect(undone).toEqual(['one'])
        expect(await stepsOf(handle.id)).toEqual(['Compensated', 'Failed', 'Failed'])
      },
    )

    it('[G14] retry: undoes it again and continues to the end', async () => {
      const { coordinator, handle, undone, mend } = await stuck('retry')
      mend()
      await coordinator.resolve(handle.id, word('retry'))
      await expect.poll(() => stateOf(handle.id)).toBe('Compensated')
      expect(undone).toEqual(['two', 'one'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] retry of what is still broken fails again, with as many attempts, and can be requested again', async () => {
      const { coordinator, handle, mend } = await stuck('retry-again')
      await coordinator.resolve(handle.id, word('retry'))
      await expect
        .poll(async () => (await under.storage.listSteps(handle.id))[1]?.compensation)
        .toMatchObject({ attempts: 4, state: 3 })
      await expect.poll(() => stateOf(handle.id)).toBe('Failed')
      mend()
      await coordinator.resolve(handle.id, word('retry'))
      await expect.poll(() => stateOf(handle.id)).toBe('Compensated')
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] skip: leaves it and undoes the rest', async () => {
      const { coordinator, handle, undone } = await stuck('skip')
      await coordinator.resolve(handle.id, word('skip'))
      await expect.poll(() => stateOf(handle.id)).toBe('Compensated')
      expect(undone).toEqual(['one'])
      expect(await stepsOf(handle.id)).toEqual(['Compensated', 'Skipped', 'Failed'])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14, G6] resolve: nothing more is done, and the operator and the reason are recorded', async () => {
      const { coordinator, handle, undone } = await stuck('resolve')
      const settled = await coordinator.resolve(handle.id, word('resolve'))
      expect(settled).toMatchObject({ state: 'Failed', awaitingOperator: false })
      expect((await under.storage.listEvents(handle.id)).at(-1)).toMatchObject({
        type: 'state.changed',
        oldState: 6,
        newState: 6,
        data: word('resolve'),
      })
      expect(await codeOfRefusal(coordinator.resolve(handle.id, word('retry')))).toBe(
        'saga_not_awaiting_operator',
      )
      expect(undone).toEqual([])
      await expectHistoryToReplay(under.storage, handle.id)
    })

    it('[G14] a resolution has an action, an operator and a reason', async () => {
      const { coordinator, handle } = await stuck('words')
      for (const bad of [{ why: ' ' }, { by: '' }, { action: 'undo' as never }]) {
        expect(await codeOfRefusal(coordinator.resolve(handle.id, { ...word('retry'), ...bad }))).toBe(
          'saga_resolution_invalid',
        )
      }
      expect(await codeOfRefusal(coordinator.resolve('nobody', word('retry')))).toBe('saga_not_found')
      expect(await stateOf(handle.id)).toBe('Failed')
    })
  })

  it('[G14] a coordinator that was suspended past its lease cannot write any more', async () => {
    const { opened, open } = gate()
    const calls: string[] = []
    const definition = (name: string, run: () => Promise<unknown>) =>
      saga('paused')
        .step('one', {
          run: () => {
            calls.push(name)
            return run()
          },
        })
        .step('two', { run: () => 2 })
    // Its heartbeat stands still, as in a process that was stopped: it neither renews nor hears, nor claims what it lost.
    const paused: StateStorage = {
      ...under.storage,
      claim: async () => [],
      renew: async () => [],
      readSignals: () => opened.then(() => new Map()),
    }
    const written: boolean[] = []
    const watched: StateStorage = {
      ...paused,
      write: async (...args) => {
        const outcomes = await under.storage.write(...args)
        written.push(...outcomes.map(({ applied }) => applied))
        return outcomes
      },
    }
    const finish = gate()
    const first = definition('first', async () => {
      await finish.opened
      return 'first'
    })
    const handle = await coordinate([first], { storage: watched, leaseMs: 60_000 }).start(first, undefined)
    await expect.poll(() => calls).toEqual(['first'])
    await under.moveMs(60_001)
    const second = definition('second', async () => 'second')
    coordinate([second])
    await expect.poll(() => stateOf(handle.id)).toBe('Completed')
    finish.open()
    await expect.poll(() => written.at(-1)).toBe(false)
    open()
    expect(calls).toEqual(['first', 'second'])
    expect((await under.storage.listSteps(handle.id))[0]).toMatchObject({ output: 'second', attempts: 2 })
    await expectHistoryToReplay(under.storage, handle.id)
  })

  /** Runs with short leases, and once more with long ones if a machine that stood still has lost one. */
  const LEASES_MS = [1_500, 15_000] as const

  it('[G14] a lease is renewed while a step takes longer than it', async () => {
    const isKept = await keepsLease(LEASES_MS[0])
    expect(isKept || (await keepsLease(LEASES_MS[1]))).toBe(true)
  })

  async function keepsLease(leaseMs: number): Promise<boolean> {
    const { opened, open } = gate()
    const calls: string[] = []
    const definition = saga(`renewed-${leaseMs}`).step('long', {
      run: async () => {
        calls.push('run')
        await opened
      },
    })
    const told: Error[] = []
    const options = { leaseMs, onError: (error: Error) => void told.push(error) }
    const handle = await coordinate([definition], options).start(definition, undefined)
    coordinate([definition], options)
    const versionThen = (await under.storage.getSaga(handle.id))?.version
    const leases = new Set<number>()
    await expect
      .poll(async () => leases.add(Number((await under.storage.getSaga(handle.id))?.leaseUntil)).size, {
        interval: 20,
      })
      // Each is a third of a lease later: the last one is past the end of the first.
      .toBeGreaterThan(4)
    open()
    expect((await handle.result()).state).toBe('Completed')
    return calls.length === 1 && told.length === 0 && Number(versionThen) <= 2
  }
})
