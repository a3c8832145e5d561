import type { SagaChange } from '../records.js'
import { sagaEvents } from './change-parts.js'
import { isPastPivot, type SagaRun } from './saga-run.js'

/**
 * Two changes, one after the other, as one write. Nobody ever sees the saga in between: its own moves are told as the
 * one that is left of them. No step may be moved by both.
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

/** The same change, with a note if it takes the saga past its pivot. */
export function notePivot(change: SagaChange, after: SagaRun): SagaChange {
  return after.saga.pivotedAt === null && isPastPivot(after) ? { ...change, pivoted: true } : change
}
