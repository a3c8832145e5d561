import { SagapostError } from '../../errors/index.js'
import type { StepTransaction } from '../definition.js'
import { encodeJson } from '../json.js'
import { isSignalName, readSignalKey, SIGNAL_PAYLOAD_BYTES_MAX } from '../signal-name.js'
import type { SignalOutcome, StateStorage } from '../storage/index.js'

export interface Signal {
  readonly name: string
  readonly key: string
  readonly payload?: unknown
}

/**
 * Stores a signal for sagas that wait for it, now or later. The first signal of a name and key counts: the same one
 * again changes nothing, and another payload is refused. `tx` is the caller's own transaction, if it has one.
 */
export async function sendSignal(
  storage: Pick<StateStorage, 'signal'>,
  { name, key: givenKey, payload }: Signal,
  tx?: StepTransaction,
): Promise<SignalOutcome> {
  if (!isSignalName(name)) {
    throw invalid('A signal’s name has 1 to 100 of A–Z, a–z, 0–9, _, . and -, a letter first')
  }
  const key = readSignalKey(givenKey)
  const text = encode(payload)
  const outcome = await storage.signal({ name, key, payload: text }, tx)
  if (outcome.same === false) {
    throw new SagapostError(
      'signal_conflict',
      `The signal ${name} with this key has come before, with another payload`,
    )
  }
  return outcome
}

function encode(payload: unknown): string | undefined {
  let text: string | undefined
  try {
    text = encodeJson(payload)
    // The form in which the waiting step will store it.
    encodeJson({ timedOut: false, payload })
  } catch (error) {
    throw invalid(`The payload cannot be kept: ${error instanceof Error ? error.message : 'it is no JSON'}`)
  }
  if (text !== undefined && Buffer.byteLength(text) > SIGNAL_PAYLOAD_BYTES_MAX) {
    throw invalid(`The payload is longer than ${SIGNAL_PAYLOAD_BYTES_MAX} bytes`)
  }
  return text
}

function invalid(message: string): SagapostError {
  return new SagapostError('signal_invalid', message)
}
