import { Link } from 'wouter'
import { type Saga, type SagaWithSteps, useList, useOne } from '../api/index.js'
import { formatCount, StatusBadge } from '../parts/index.js'

const DEFINITION = 'sagapost.requeue-dead-letters'
/** An ended requeue stays visible for a while, so that its outcome is not missed. */
const SHOWN_AFTER_MS = 60_000
const ended = new Set(['Completed', 'Compensated', 'Failed', 'Cancelled', 'TimedOut'])

/** Requeues are sagas, so their progress survives a reload of the page. */
export function RunningRequeues() {
  const { items } = useList<Saga>('/v1/sagas', { definition: DEFINITION, limit: 5 })
  const shown = items.filter(
    ({ state, updatedAt }) => !ended.has(state) || Date.now() - Date.parse(updatedAt) < SHOWN_AFTER_MS,
  )
  return shown.map(({ id }) => <RequeueProgress key={id} id={id} />)
}

export interface Progress {
  matching: number
  requeued: number
  skipped?: number
  remaining: number
}

function RequeueProgress({ id }: { id: string }) {
  const { data } = useOne<SagaWithSteps>(`/v1/sagas/${id}`, { refreshMs: 1_000 })
  const progress = data?.steps[0]?.progress as Progress | null | undefined
  if (!data) return null
  return (
    <section className="panel mb-3 px-4 py-3" aria-label="Requeue">
      <p className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <span className="flex items-center gap-2">
          <strong className="font-medium">Requeue of dead letters</strong>
          <StatusBadge status={data.state} />
        </span>
        <Link href={`/sagas/${id}`} className="link">
          View saga
        </Link>
      </p>
      {progress && <ProgressBar progress={progress} />}
    </section>
  )
}

export function ProgressBar({ progress }: { progress: Progress }) {
  const done = progress.matching - progress.remaining
  return (
    <>
      <progress
        value={done}
        max={Math.max(1, progress.matching)}
        aria-label="Requeued"
        className="h-2 w-full overflow-hidden rounded-full accent-(--accent)"
      />
      <p className="mt-1 text-soft">
        {formatCount(done)} of {formatCount(progress.matching)}
      </p>
    </>
  )
}
