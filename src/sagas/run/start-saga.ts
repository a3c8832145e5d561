import { isDeepStrictEqual } from 'node:util'
import { SagapostError } from '../../errors/index.js'
import type { SagaDefinition, StepDefinition, StepTransaction } from '../definition.js'
import { decodeJson, encodeJson } from '../json.js'
import { newSagaId, newSpanId, newTraceId } from '../new-ids.js'
import type { NewSaga, NewStep } from '../records.js'
import { describeIssues } from '../standard-schema.js'
import type { StartOutcome, StateStorage } from '../storage/index.js'

const KEY_CHARS_MAX = 255
const NAME_CHARS_MAX = 255
const DESCRIPTION_CHARS_MAX = 4_000
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

export interface StartOptions {
  /** An idempotency key: a second start with the same key returns the first saga. */
  readonly key?: string
  /** For operators: what this saga is about. */
  readonly name?: string
  readonly description?: string
  readonly metadata?: Record<string, unknown>
  /** [G17] W3C ids of the trace that the saga belongs to. Default: a new trace. */
  readonly traceId?: string
  readonly spanId?: string
}

/** Checks the input and stores a new saga; `tx` is the caller's own transaction, if it has one. */
export async function startSaga(
  storage: Pick<StateStorage, 'startSaga'>,
  definition: SagaDefinition,
  input: unknown,
  options: StartOptions & Pick<NewSaga, 'lease'> & { readonly tx?: StepTransaction } = {},
): Promise<StartOutcome> {
  const { tx, ...rest } = options
  const given = await newSagaOf(definition, input, rest)
  const outcome = await storage.startSaga(given, tx)
  const { created, saga } = outcome
  // Another version may parse the same input differently: then only the key counts.
  const comparable = saga.definitionVersion === definition.version
  if (!created && comparable && !isDeepStrictEqual(saga.input, decodeJson(given.input))) {
    throw new SagapostError(
      'idempotency_conflict',
      `The key "${options.key}" has started saga ${saga.id} of ${definition.name} with another input`,
    )
  }
  return outcome
}

/** A saga ready to start, with its input checked. */
export async function newSagaOf(
  definition: SagaDefinition,
  input: unknown,
  options: StartOptions & Pick<NewSaga, 'lease' | 'parentId'> = {},
): Promise<NewSaga> {
  const { key, name, description, traceId, spanId, lease, parentId } = options
  if (definition.steps.length === 0) {
    throw new SagapostError('saga_definition_invalid', `${definition.name} has no steps`)
  }
  if (key !== undefined && !isKey(key)) {
    throw new SagapostError(
      'idempotency_key_invalid',
      `A key has 1 to ${KEY_CHARS_MAX} characters, without U+0000 and halves of surrogate pairs`,
    )
  }
  if (traceId !== undefined && !TRACE_ID.test(traceId)) throw invalidInput('traceId must be 32 hex digits')
  if (spanId !== undefined && !SPAN_ID.test(spanId)) throw invalidInput('spanId must be 16 hex digits')
  requireText(definition, 'name', name, NAME_CHARS_MAX)
  requireText(definition, 'description', description, DESCRIPTION_CHARS_MAX)
  const metadata = readMetadata(definition, options.metadata)
  return {
    id: newSagaId(),
    definitionId: definition.name,
    definitionVersion: definition.version,
    idempotencyKey: key ?? null,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    input: await readInput(definition, input),
    timeoutMs: definition.timeoutMs ?? null,
    retryPolicy: definition.retry,
    metadata,
    traceId: traceId ?? newTraceId(),
    spanId: spanId ?? newSpanId(),
    steps: definition.steps.map(newStepOf),
    ...(lease ? { lease } : {}),
    ...(parentId === undefined ? {} : { parentId }),
    ...(definition.publish ? { publishes: true } : {}),
  }
}

/** The row as which a step begins. */
export function newStepOf({ name, retry, metadata }: StepDefinition): NewStep {
  return { name, maxAttempts: retry.max_attempts, ...(metadata ? { metadata } : {}) }
}

async function readInput(definition: SagaDefinition, input: unknown): Promise<string | undefined> {
  let value = input
  if (definition.input !== undefined) {
    const result = await definition.input['~standard'].validate(input)
    if (result.issues) throw invalidInput(`${definition.name}: ${describeIssues(result.issues)}`)
    value = result.value
  }
  try {
    return encodeJson(value)
  } catch (error) {
    throw invalidInput(`${definition.name}: the input cannot be kept: ${messageOf(error)}`)
  }
}

/**
 * The metadata as it will be read back. Values that cannot be stored are refused here: they would fail the whole batch
 * of starts.
 */
function readMetadata(definition: SagaDefinition, given: unknown): Record<string, unknown> | null {
  if (given === undefined || given === null) return null
  let metadata: unknown
  try {
    metadata = decodeJson(encodeJson(given))
  } catch (error) {
    throw invalidInput(`${definition.name}: the metadata cannot be kept: ${messageOf(error)}`)
  }
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw invalidInput(`${definition.name}: metadata must be a plain object`)
  }
  return metadata as Record<string, unknown>
}

const isKey = (key: unknown) => isText(key, KEY_CHARS_MAX)

function requireText(definition: SagaDefinition, what: string, text: unknown, charsMax: number): void {
  if (text === undefined || isText(text, charsMax)) return
  throw invalidInput(
    `${definition.name}: ${what} must be 1 to ${charsMax} characters, without U+0000 and halves of surrogate pairs`,
  )
}

function isText(text: unknown, charsMax: number): boolean {
  if (typeof text !== 'string' || text === '' || text.length > charsMax) return false
  return !/\p{Surrogate}|\0/u.test(text)
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : 'it cannot be turned into JSON'
}

function invalidInput(message: string): SagapostError {
  return new SagapostError('saga_input_invalid', message)
}
