import type { SagaChange } from '../records.js'
import { sagaEvents } from './change-parts.js'
import { isPastPivot, type SagaRun } from './saga-run.js'

/**
 * Joins two consecutive changes into one write. The saga's state in between is never visible: its own two moves become
 * one. No step may move in both.
 */
export function joinChanges({ saga }: SagaRun, first: SagaChange, second: SagaChange): SagaChange {
  const { version, eventsBefore } = first
  const steps = [...first.events, ...second.events].filter(({ stepIndex }) => stepIndex !== null)
  const move = second.state === saga.state ? [] : sagaEvents(saga.state, second.state)
  const children = [...(first.children ?? []), ...(second.children ?? [])]
  const wakes = [...(first.wakes ?? []), ...(second.wakes ?? [])]
  const publications = [...(first.publications ?? []), ...(second.publications ?? [])]
  return {
    ...first,
    ...second,
    version,
    ...(eventsBefore === undefined ? {} : { eventsBefore }),
    steps: [...first.steps, ...second.steps],
    events: second.state === 'Running' ? [...move, ...steps] : [...steps, ...move],
    ...(children.length > 0 ? { children } : {}),
    ...(wakes.length > 0 ? { wakes } : {}),
    ...(publications.length > 0 ? { publications } : {}),
  }
}

/** Adds a note when the change takes the saga past its pivot. */
export function notePivot(change: SagaChange, after: SagaRun): SagaChange {
  return after.saga.pivotedAt === null && isPastPivot(after) ? { ...change, pivoted: true } : change
}
