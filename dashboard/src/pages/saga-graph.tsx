import type { SagaStep, SagaWithSteps } from '../api/index.js'
import {
  Countdown,
  formatDuration,
  Panel,
  ScrollArea,
  StatusBadge,
  showText,
  toneOf,
} from '../parts/index.js'
import { type Progress, ProgressBar } from './running-requeues.js'

const borders: Record<string, string> = {
  good: 'border-good',
  warn: 'border-warn',
  bad: 'border-bad',
  info: 'border-info',
  mute: 'border-strong-line',
}

/** The steps of a saga from left to right, and below each its compensation, from right to left. */
export function SagaGraph({ saga }: { saga: SagaWithSteps }) {
  const isUndone = saga.steps.some(({ compensation }) => compensation !== null)
  return (
    <Panel
      title="Steps"
      aside={isUndone && <span className="text-soft">below: undone, from right to left</span>}
    >
      <ScrollArea label="Steps of the saga" className="px-4 py-4">
        <ol className="flex w-max min-w-full items-stretch">
          {saga.steps.map((step, index) => (
            <li key={step.index} className="flex">
              {index > 0 && <span aria-hidden="true" className="mt-6 h-px w-7 shrink-0 bg-strong-line" />}
              <div className="flex w-48 flex-col">
                <StepBox
                  step={step}
                  isCurrent={step.index === saga.currentStep && saga.completedAt === null}
                />
                {isUndone && <UndoBox step={step} />}
              </div>
            </li>
          ))}
        </ol>
      </ScrollArea>
    </Panel>
  )
}

function StepBox({ step, isCurrent }: { step: SagaStep; isCurrent: boolean }) {
  const { name, state, attempts, maxAttempts, error, waitsFor, wakeAt, startedAt, completedAt, progress } =
    step
  const tookMs = startedAt && completedAt ? Date.parse(completedAt) - Date.parse(startedAt) : null
  const isProgress = progress !== null && typeof progress['matching'] === 'number'
  return (
    <div
      className={`rounded-lg border bg-panel p-2.5 ${borders[toneOf(state)]} ${isCurrent ? 'border-2' : ''}`}
    >
      <p className="truncate font-medium" title={showText(name)}>
        {showText(name)}
      </p>
      <p className="my-1">
        <StatusBadge status={state} />
      </p>
      <p className="text-xs text-soft">
        {attempts > 0 && `attempt ${attempts} of ${maxAttempts}`}
        {tookMs !== null && ` · ${formatDuration(tookMs)}`}
      </p>
      {waitsFor && state === 'Running' && (
        <p className="mono mt-1 truncate text-xs text-info" title={showText(waitsFor)}>
          waits for {showText(waitsFor)}
        </p>
      )}
      {wakeAt && state !== 'Completed' && (
        <p className="mt-1 text-xs text-soft">
          next <Countdown to={wakeAt} done="due" />
        </p>
      )}
      {error && (
        <p className="mt-1 truncate text-xs text-bad" title={showText(error.message)}>
          <span className="mono">{showText(error.code)}</span> {showText(error.message)}
        </p>
      )}
      {isProgress && (
        <div className="mt-1 text-xs">
          <ProgressBar progress={progress as unknown as Progress} />
        </div>
      )}
    </div>
  )
}

function UndoBox({ step: { compensation } }: { step: SagaStep }) {
  if (!compensation) return null
  const { state, attempts, maxAttempts, error } = compensation
  return (
    <>
      <span aria-hidden="true" className="mx-auto h-4 w-px bg-strong-line" />
      <div className={`rounded-lg border border-dashed p-2.5 ${borders[toneOf(state)]}`}>
        <p className="mb-1 text-soft">Undo</p>
        <StatusBadge status={state} />
        <p className="mt-1 text-xs text-soft">
          attempt {attempts} of {maxAttempts}
        </p>
        {error && (
          <p className="mt-1 truncate text-xs text-bad" title={showText(error.message)}>
            <span className="mono">{showText(error.code)}</span> {showText(error.message)}
          </p>
        )}
      </div>
    </>
  )
}
