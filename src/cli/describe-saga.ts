import type { SagaEvent, SagaStep, SagaWithSteps } from '../client/index.js'
import { createTable, formatFields, makeVisible, type Row } from './format-table.js'
import { formatAgo, formatStatus, formatTime } from './format-values.js'

/** A saga as text: its fields, its steps and its history. */
export function describeSaga(saga: SagaWithSteps): string {
  const cancelled = saga.cancelRequestedAt
    ? `${formatTime(saga.cancelRequestedAt)} by ${saga.cancelRequestedBy}: ${saga.cancelReason}`
    : '-'
  const fields = formatFields([
    ['Saga', saga.id],
    ['Definition', `${saga.definition}, version ${saga.definitionVersion}`],
    ['Key', saga.key ?? '-'],
    ['Name', saga.name ?? '-'],
    ['Description', saga.description ?? '-'],
    ['State', formatStatus(saga.state)],
    ['Waits for', waitsFor(saga)],
    ['Error', saga.error ? `${saga.error.message} [${saga.error.code}]` : '-'],
    ['Created', formatTime(saga.createdAt)],
    ['Updated', formatTime(saga.updatedAt)],
    ['Ended', formatTime(saga.completedAt)],
    ['Deadline', formatTime(saga.deadlineAt)],
    ['Cancelled', cancelled],
    ['Parent', saga.parentId ?? '-'],
    ['Trace', saga.traceId ?? '-'],
  ])
  const steps = createTable(['STEP', 'NAME', 'STATE', 'ATTEMPTS', 'UNDONE', 'ERROR'])(saga.steps.map(stepRow))
  const history = createTable(['#', 'AT', 'EVENT', 'STEP', 'FROM', 'TO', 'DETAIL'])(
    saga.events.map((event) => eventRow(event, saga.steps)),
  )
  const left = saga.eventCount - saga.events.length
  const progress = saga.steps.flatMap((step) => (step.progress ? [['Progress', step.progress] as const] : []))
  const data = [...progress, ['Input', saga.input], ['Result', saga.result]].map(
    ([name, value]) => `${name}\n${makeVisible(JSON.stringify(value))}`,
  )
  return [
    fields,
    steps,
    ...(saga.events.length > 0 ? [left > 0 ? `${left} earlier events omitted\n${history}` : history] : []),
    ...data,
  ].join('\n\n')
}

function waitsFor(saga: SagaWithSteps): string {
  if (saga.awaitingOperator && saga.state === 'Running') {
    return 'an operator: sagapost dead-letters requeue, sagas resolve --action skip, or sagas cancel'
  }
  if (saga.awaitingOperator) return 'an operator: sagapost sagas resolve'
  if (saga.leaseOwner !== null) return `its step to finish; held by ${saga.leaseOwner}`
  const waiting = saga.steps.filter(({ state }) => state === 'Running' || state === 'Compensating')
  const topics = waiting.flatMap(({ waitsFor: topic }) => topic ?? [])
  const until = saga.wakeAt === null ? [] : [`a coordinator, from ${formatTime(saga.wakeAt)} on`]
  return [...topics.map(makeVisible), ...until].join('; ') || '-'
}

function stepRow(step: SagaStep): Row {
  const { compensation: undo, error } = step
  const failure = undo?.error ?? error
  return [
    ...[String(step.index), step.name, formatStatus(step.state), `${step.attempts}/${step.maxAttempts}`],
    undo ? `${undo.state}, ${undo.attempts}/${undo.maxAttempts}` : '-',
    failure ? `${failure.message} [${failure.code}]` : '-',
  ]
}

function eventRow(event: SagaEvent, steps: readonly SagaStep[]): Row {
  const step = steps.find(({ index }) => index === event.stepIndex)
  const detail = event.error?.message ?? (event.data ? JSON.stringify(event.data) : '-')
  return [
    ...[String(event.sequence), formatAgo(event.timestamp), event.type, step?.name ?? '-'],
    ...[formatStatus(event.oldState), formatStatus(event.newState), detail],
  ]
}
