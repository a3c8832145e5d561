import type { RequeueProgress, SagaWithSteps } from '../client/index.js'

const BAR_CHARS = 24

/** The progress of a requeue by filter. */
export interface RequeueStand extends RequeueProgress {
  sagaId: string
  state: SagaWithSteps['state']
}

export function toStand({ id, state, steps }: SagaWithSteps): RequeueStand | undefined {
  const progress = steps[0]?.progress as RequeueProgress | null | undefined
  return progress ? { sagaId: id, state, ...progress } : undefined
}

/** The first observation and its age; the rate is measured since then. */
export interface RequeueStart {
  remaining: number
  elapsedMs: number
}

/** `[########................]  33 %  16,500 of 50,000  4,100/s  8s left` */
export function drawBar(stand: RequeueStand, start: RequeueStart): string {
  const { matching, remaining } = stand
  const share = matching === 0 ? 1 : (matching - remaining) / matching
  const filled = Math.floor(share * BAR_CHARS)
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_CHARS - filled)
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  return [`[${bar}]`, percent, describeCount(stand), ...describeRate(stand, start)].join('  ')
}

/** Progress as a line of text, for a pipe. */
export function drawLine(stand: RequeueStand, start: RequeueStart): string {
  return [stand.state, describeCount(stand), ...describeRate(stand, start)].join(', ')
}

/** The outcome of the requeue. */
export function describeEnd(stand: RequeueStand): string {
  const { state, matching, requeued, alreadyRequeued, refused, refusals, remaining } = stand
  const reasons = Object.entries(refusals).map(([reason, count]) => `${reason} ${number(count)}`)
  const parts = [
    `requeued ${number(requeued)} of ${number(matching)}`,
    ...(alreadyRequeued > 0 ? [`${number(alreadyRequeued)} had already been requeued`] : []),
    ...(refused > 0 ? [`${number(refused)} refused (${reasons.join(', ')})`] : []),
    ...(remaining > 0 ? [`${number(remaining)} not processed`] : []),
  ]
  return `${state}: ${parts.join('; ')}`
}

function describeCount({ matching, remaining }: RequeueStand): string {
  return `${number(matching - remaining)} of ${number(matching)}`
}

/** Empty until there is progress to measure. */
function describeRate({ remaining }: RequeueStand, start: RequeueStart): string[] {
  const done = start.remaining - remaining
  if (done <= 0 || start.elapsedMs <= 0 || remaining === 0) return []
  const perMs = done / start.elapsedMs
  return [`${number(Math.round(perMs * 1_000))}/s`, `${duration(Math.ceil(remaining / perMs / 1_000))} left`]
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`
  return `${Math.floor(seconds / 3_600)}h ${Math.floor((seconds % 3_600) / 60)}m`
}

const number = (value: number) => value.toLocaleString('en-US')
