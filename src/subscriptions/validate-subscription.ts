import { errorCatalogue, SagapostError } from '../errors/index.js'
import { refuseCallbackUrl, refuseHeaders, type SigningSecret } from '../webhook/index.js'

const EVENT_TYPE_FORMAT = /^[A-Za-z0-9_.-]{1,100}$/
const MAX_ATTEMPTS_MAX = 100

export interface SubscriptionValues {
  eventType?: string | undefined
  callbackUrl?: string | undefined
  /** Null for the global default [S15]. */
  maxAttempts?: number | null | undefined
  /** Sent with every delivery; replaces all earlier headers. */
  headers?: Record<string, string> | undefined
}

/** Throws an error about the first invalid value. The schema enforces its own rules as well. */
export function validateSubscription(values: SubscriptionValues, allowedCidrs: readonly string[]): void {
  const { eventType, callbackUrl, maxAttempts, headers } = values
  if (eventType !== undefined) validateEventType(eventType)
  if (callbackUrl !== undefined) validateCallbackUrl(callbackUrl, allowedCidrs)
  if (maxAttempts !== undefined) validateMaxAttempts(maxAttempts)
  if (headers !== undefined) validateHeaders(headers)
}

export function validateEventType(eventType: string): void {
  if (typeof eventType !== 'string' || !EVENT_TYPE_FORMAT.test(eventType)) {
    throw new SagapostError('event_type_invalid', errorCatalogue.event_type_invalid.title)
  }
}

/** [U3] Checks only what the URL itself shows; the address behind a name is checked at each connection. */
function validateCallbackUrl(callbackUrl: string, allowedCidrs: readonly string[]): void {
  if (typeof callbackUrl !== 'string') {
    throw new SagapostError('callback_url_invalid', 'callbackUrl must be a text')
  }
  const refusal = refuseCallbackUrl(callbackUrl, allowedCidrs)
  if (refusal) throw new SagapostError(refusal.code, refusal.detail)
}

/** [S15] Never 0: a delivery is attempted at least once. */
function validateMaxAttempts(maxAttempts: number | null): void {
  if (maxAttempts === null) return
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MAX_ATTEMPTS_MAX) {
    throw new SagapostError(
      'subscription_invalid',
      `maxAttempts must be a whole number from 1 to ${MAX_ATTEMPTS_MAX}, or null for the default`,
    )
  }
}

function validateHeaders(headers: Record<string, string>): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new SagapostError('subscription_invalid', 'headers must be an object of names and values')
  }
  const refusal = refuseHeaders(headers)
  if (refusal) throw new SagapostError('subscription_invalid', `headers.${refusal.field}: ${refusal.detail}`)
}

const schemes: readonly unknown[] = ['v1', 'v1a'] satisfies SigningSecret['scheme'][]

export function validateScheme(scheme: SigningSecret['scheme'] | undefined): void {
  if (scheme !== undefined && !schemes.includes(scheme)) {
    throw new SagapostError('subscription_invalid', `scheme must be ${schemes.join(' or ')}`)
  }
}
