import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideNext } from '../../../src/sagas/decide/decide-next.js'
import { newSteps } from '../../../src/sagas/decide/new-records.js'
import { planCompensation, planComplete, planEnd } from '../../../src/sagas/decide/plan-ends.js'
import { planResolution } from '../../../src/sagas/decide/plan-resolution.js'
import {
  planBegin,
  planCompleted,
  planFailed,
  planInterruptedRun,
  planSkip,
} from '../../../src/sagas/decide/plan-runs.js'
import {
  planInterruptedUndo,
  planUndo,
  planUndoFailed,
  planUndone,
} from '../../../src/sagas/decide/plan-undos.js'
import { applyChange, type SagaRun } from '../../../src/sagas/decide/saga-run.js'
import type { StepDefinition } from '../../../src/sagas/definition.js'
import type { SagaChange, SagaEventRecord, SagaRecord } from '../../../src/sagas/records.js'
import { defaultRetryPolicy, retryDelayMs } from '../../../src/sagas/retry-policy.js'
import { attemptError } from '../../../src/sagas/saga-error.js'
import { replayHistory } from '../../support/replay-history.js'

const retry = { ...defaultRetryPolicy, max_attempts: 2 }

function newRun(
  steps: StepDefinition[],
  { compensation, stepsBeforePivot }: Pick<SagaRun['definition'], 'compensation' | 'stepsBeforePivot'>,
): SagaRun {
  const saga = {
    id: 'saga',
    state: 'Pending',
    currentStep: 0,
    totalSteps: steps.length,
    error: null,
    awaitingOperator: false,
    timedOutAt: null,
    leaseOwner: 'me',
    version: 1,
    eventCount: 0,
    parentId: null,
    pivotedAt: null,
    createdAt: new Date(0),
    updatedAt: new Date(0),
  } as unknown as SagaRecord
  return {
    saga,
    steps: newSteps(
      saga,
      steps.map(({ name }) => ({ name, maxAttempts: retry.max_attempts })),
    ),
    definition: { steps, compensation, stepsBeforePivot },
    signals: { cancelRequested: false, overdue: false },
  }
}

const stepDefinitions = fc.array(
  fc.record({
    compensates: fc.boolean(),
    kind: fc.constantFrom('step', 'step', 'transaction', 'sleep', 'signal'),
    /** Runs at the same time as the one before. */
    beside: fc.boolean(),
    wanted: fc.constantFrom(undefined, undefined, true, false),
  }),
  { minLength: 1, maxLength: 6 },
)

describe('deciding', () => {
  it('[G14] always ends, by legal moves that the history replays, whatever steps and bystanders do', () => {
    fc.assert(
      fc.property(
        stepDefinitions,
        fc.constantFrom('reverse', 'best_effort', 'parallel'),
        fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
        fc.infiniteStream(fc.integer({ min: 0, max: 11 })),
        (plans, compensation, pivot, chances) => {
          let stage = 0
          const definitions = plans.map(({ compensates, kind, beside, wanted }, index) => {
            if (index > 0 && index !== pivot && !beside) stage++
            if (index === pivot) stage++
            return {
              name: `s${index}`,
              kind,
              stage,
              run: () => {},
              ...(wanted === undefined ? {} : { when: () => wanted }),
              ...(compensates && index < (pivot ?? 9) ? { compensate: () => {} } : {}),
              retry,
              compensateRetry: retry,
              timeoutMs: undefined,
            } as unknown as StepDefinition
          })
          const chance = () => chances.next().value as number
          let run = newRun(definitions, {
            compensation,
            stepsBeforePivot: pivot !== undefined && pivot <= plans.length ? pivot : undefined,
          })
          const events: SagaEventRecord[] = []
          let nowMs = 0
          const write = (change: SagaChange) => {
            run = applyChange(run, change, new Date(nowMs))
            for (const event of change.events) {
              events.push({ ...event, sequence: events.length + 1 } as SagaEventRecord)
            }
          }
          const error = () => attemptError('step_timed_out', 'x', chance() > 2)
          let interventions = 0
          for (let turn = 0; turn < 500; turn++) {
            if (chance() === 0 && run.saga.state !== 'Compensating') {
              run = { ...run, signals: { cancelRequested: chance() > 6, overdue: chance() > 6 } }
            }
            const action = decideNext(run, { now: new Date(nowMs) })
            if (action.do === 'nothing') {
              if (run.saga.state !== 'Failed' || interventions++ > 2) break
              const what = (['retry', 'skip', 'resolve'] as const)[chance() % 3] ?? 'resolve'
              run = { ...run, saga: { ...run.saga, leaseOwner: null } }
              write(planResolution(run, { action: what, by: 'b', why: 'w' }))
              if (what === 'resolve') break
            } else if (action.do === 'skip') write(planSkip(run, action.indexes))
            else if (action.do === 'begin') {
              const waits = (index: number) => ['sleep', 'signal'].includes(definitions[index]?.kind ?? '')
              write(
                planBegin(
                  run,
                  action.indexes.map((index) => ({
                    index,
                    spanId: 'span',
                    ...(waits(index) ? { wait: { topic: null, wake: { inMs: 5 } } } : {}),
                  })),
                ),
              )
              for (const index of action.indexes.filter((each) => !waits(each))) {
                const how = chance()
                // Else the process has died: the next turn finds it running.
                if (how < 6) write(planCompleted(run, index, '1', 'span'))
                else if (how < 9) write(planFailed(run, index, error(), 'span'))
              }
            } else if (action.do === 'wait') {
              const waiting = action.indexes.flatMap((each) => run.steps[each] ?? [])
              // Whoever is being undone waits for nothing but a pause between two attempts at that.
              if (run.saga.state === 'Compensating') {
                expect(waiting.map(({ state }) => state)).toEqual(waiting.map(() => 'Compensating'))
              }
              const ending = waiting.find(({ state }) => state === 'Running')
              if (ending === undefined) {
                nowMs = Math.min(...waiting.flatMap(({ wakeAt }) => wakeAt?.getTime() ?? []))
              } else if (chance() < 10) write(planCompleted(run, ending.index, '1'))
              else write(planFailed(run, ending.index, error()))
            } else if (action.do === 'complete') write(planComplete(run))
            else if (action.do === 'undo') {
              write(planUndo(run, action.indexes, 'span'))
              for (const index of action.indexes) {
                const how = chance()
                if (how < 6) write(planUndone(run, index, 'span'))
                else if (how < 10) write(planUndoFailed(run, index, error(), 'span'))
              }
            } else if (action.do === 'note_interrupted_run') write(planInterruptedRun(run, action.index))
            else if (action.do === 'note_interrupted_undo') write(planInterruptedUndo(run, action.index))
            else if (action.do === 'compensate') {
              expect(run.definition.stepsBeforePivot).not.toSatisfy(
                (before: number | undefined) =>
                  before !== undefined &&
                  run.steps
                    .slice(0, before)
                    .every(({ state }) => state === 'Completed' || state === 'Skipped'),
              )
              write(planCompensation(run, action.cause))
            } else if (action.do === 'end') write(planEnd(run, action.state))
          }
          expect(['Completed', 'Compensated', 'Cancelled', 'TimedOut', 'Failed']).toContain(run.saga.state)
          expect(replayHistory(events, plans.length)).toEqual({
            state: run.saga.state,
            steps: run.steps.map(({ state, attempts, compensation: undo }) => ({
              state,
              attempts,
              compensationAttempts: undo?.attempts ?? 0,
            })),
          })
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('[G6] a history with a gap, or with an illegal move, does not replay', () => {
    const event = (sequence: number, oldState: number, newState: number) =>
      ({ sequence, type: 'state.changed', stepIndex: null, oldState, newState }) as SagaEventRecord
    expect(() => replayHistory([event(1, 0, 1), event(3, 1, 2)], 1)).toThrow('place 2')
    expect(() => replayHistory([event(1, 0, 3)], 1)).toThrow('from Pending to Completed')
    expect(() => replayHistory([event(1, 1, 2)], 1)).toThrow('the state was Pending')
  })
})

describe('the pause before a retry', () => {
  const base = {
    ...defaultRetryPolicy,
    initial_interval_ms: 100,
    max_interval_ms: 1_000,
    multiplier: 3,
  } as const
  const pauses = (policy: typeof defaultRetryPolicy) =>
    [1, 2, 3, 4].map((attempt) => retryDelayMs(policy, attempt, 's', () => 0.5))

  it.each([
    ['fixed', [100, 100, 100, 100]],
    ['linear', [100, 200, 300, 400]],
    ['exponential', [100, 300, 900, 1_000]],
  ] as const)('[G5] is %s', (backoff, expected) => {
    expect(pauses({ ...base, backoff, jitter: 'none' })).toEqual(expected)
    expect(pauses({ ...base, backoff, jitter: 'full' })).toEqual(expected.map((pause) => pause / 2))
  })

  it('[G5] with deterministic jitter is the same for the same attempt, within the upper half, and spread', () => {
    const policy = { ...base, backoff: 'fixed', jitter: 'deterministic' } as const
    const all = Array.from({ length: 200 }, (_, n) => retryDelayMs(policy, 1, `saga-${n}`))
    expect(all).toEqual(Array.from({ length: 200 }, (_, n) => retryDelayMs(policy, 1, `saga-${n}`)))
    expect(Math.min(...all)).toBeGreaterThanOrEqual(50)
    expect(Math.max(...all)).toBeLessThanOrEqual(100)
    expect(new Set(all).size).toBeGreaterThan(30)
  })
})
