import { correlationIdOf } from '../../observability/index.js'
import type { SigningSecret, WebhookOutcome, WebhookRequest } from '../../webhook/index.js'
import type { ClaimedJob } from './claim-jobs.js'
import type { JobReport } from './report-results.js'

/** The request sent to the receiver (docs/reference/signing.md). */
export function toRequest(
  job: ClaimedJob,
  payload: string,
  secrets: readonly SigningSecret[],
): WebhookRequest {
  return {
    url: job.callbackUrl,
    webhookId: job.webhookId,
    body: Buffer.from(payload),
    secrets,
    headers: {
      ...job.headers,
      'sagapost-event-type': job.eventType,
      'sagapost-attempt': String(job.attempt),
      'sagapost-correlation-id': correlationIdOf(job.eventId, job.correlationId),
      ...(job.traceparent ? { traceparent: job.traceparent } : {}),
    },
  }
}

/** The report stored in the database. */
export function toReport(job: ClaimedJob, outcome: WebhookOutcome): JobReport {
  return {
    jobId: job.id,
    eventId: job.eventId,
    leaseToken: job.leaseToken,
    errorCode: outcome.delivered ? null : outcome.errorCode,
    responseStatus: outcome.responseStatus ?? null,
    retryAfterS: outcome.delivered ? null : (outcome.retryAfterS ?? null),
    durationMs: Math.round(outcome.durationMs),
    responseExcerpt: outcome.responseExcerpt ?? null,
  }
}
