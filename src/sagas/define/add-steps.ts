import type { ReadyContext, SagaDefinition, StepDefinition } from '../definition.js'
import { DURATION_MS_MAX, type Duration, readDuration, TIME_MS_MAX } from '../duration.js'
import { invalidDefinition } from '../invalid-definition.js'
import { decodeJson, encodeJson } from '../json.js'
import type { WakeTime } from '../records.js'
import { type RetryPolicy, readRetryPolicy } from '../retry-policy.js'
import { isSignalName } from '../signal-name.js'

export type Kind = StepDefinition['kind']

const STEP_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/
const BRANCHES_MAX = 100

// Saga has the builder's types, which are erased here; callers without a compiler get errors at run time.
// biome-ignore lint/suspicious/noExplicitAny: as above
type Options = Record<string, any>

/** Returns the definition with one more step, in a stage of its own. */
export function addStep(
  definition: SagaDefinition,
  kind: Kind,
  name: string,
  options: Options,
): SagaDefinition {
  const step = readStep(definition, kind, name, options, nextStage(definition))
  return { ...definition, steps: Object.freeze([...definition.steps, step]) }
}

/** Returns the definition with steps that run at the same time. */
export function addBranches(definition: SagaDefinition, branches: Record<string, Options>): SagaDefinition {
  const given = Object.entries(branches)
  if (given.length === 0 || given.length > BRANCHES_MAX) {
    throw invalidDefinition(`${definition.name}: parallel takes 1 to ${BRANCHES_MAX} branches`)
  }
  const stage = nextStage(definition)
  const steps = given.map(([name, options]) => readStep(definition, 'step', name, options, stage))
  return { ...definition, steps: Object.freeze([...definition.steps, ...steps]) }
}

export function markPivot(definition: SagaDefinition): SagaDefinition {
  const { name, steps, stepsBeforePivot } = definition
  if (stepsBeforePivot !== undefined) throw invalidDefinition(`${name} has two pivots`)
  if (steps.length === 0) throw invalidDefinition(`${name}: there is no step before its pivot`)
  return { ...definition, stepsBeforePivot: steps.length }
}

const nextStage = ({ steps }: SagaDefinition) => (steps.at(-1)?.stage ?? -1) + 1

function readStep(
  definition: SagaDefinition,
  kind: Kind,
  name: string,
  options: Options,
  stage: number,
): StepDefinition {
  const what = `${definition.name}.${name}`
  if (!STEP_NAME.test(name)) {
    throw invalidDefinition(
      `"${name}" is no name of a step: 1 to 100 of A–Z, a–z, 0–9, _ and -, a letter first`,
    )
  }
  if (definition.steps.some((step) => step.name === name)) {
    throw invalidDefinition(`${definition.name} has two steps named ${name}`)
  }
  for (const key of ['when', 'compensate']) {
    if (options[key] !== undefined) requireFunction(`${what}: ${key}`, options[key])
  }
  if (options['compensate'] !== undefined && definition.stepsBeforePivot !== undefined) {
    throw invalidDefinition(`${what} stands after the pivot: it is never undone, and needs no compensate`)
  }
  const called = kind === 'step' || kind === 'transaction'
  const once: RetryPolicy = { ...definition.retry, max_attempts: 1 }
  const retry = readRetryPolicy(what, options['retry'], called ? definition.retry : once)
  const common = {
    name,
    stage,
    retry,
    ...(options['when'] ? { when: options['when'] } : {}),
    ...(options['compensate'] ? { compensate: options['compensate'] } : {}),
    ...(options['metadata'] === undefined ? {} : { metadata: readMetadata(what, options['metadata']) }),
    compensateRetry: readRetryPolicy(what, options['compensateRetry'], retry),
    timeoutMs:
      called && options['timeout'] !== undefined
        ? readDuration(`${what}: timeout`, options['timeout'], 'timer')
        : undefined,
  }
  return Object.freeze({ ...common, ...readKind(what, kind, options) } as StepDefinition)
}

/** The metadata as it will be read back: what cannot be stored is refused here, not when a saga is started. */
function readMetadata(what: string, given: unknown): Record<string, unknown> {
  let metadata: unknown
  try {
    metadata = decodeJson(encodeJson(given))
  } catch (error) {
    throw invalidDefinition(`${what}: the metadata cannot be kept: ${(error as Error).message}`)
  }
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw invalidDefinition(`${what}: metadata must be a plain object`)
  }
  return metadata as Record<string, unknown>
}

/** The options specific to the step's kind. */
function readKind(what: string, kind: Kind, options: Options): object {
  switch (kind) {
    case 'sleep':
      return { kind, wake: readSleep(what, options) }
    case 'signal': {
      const { signal, key, timeout, schema } = options
      if (!isSignalName(signal)) throw invalidDefinition(`${what}: "${signal}" is no name of a signal`)
      requireFunction(`${what}: key`, key)
      const limitMs = timeout === undefined ? undefined : readDuration(`${what}: timeout`, timeout)
      return { kind, signal, key, limitMs, schema }
    }
    case 'saga': {
      const { saga: child, input } = options
      if (!Array.isArray(child?.steps)) throw invalidDefinition(`${what}: saga must be a definition`)
      if (child.steps.length === 0) throw invalidDefinition(`${what}: ${child.name} has no steps`)
      requireFunction(`${what}: input`, input)
      return { kind, child, childInput: input }
    }
    case 'delivery': {
      const { event, timeout, onDeadLetter = 'fail' } = options
      requireFunction(`${what}: event`, event)
      if (onDeadLetter !== 'fail' && onDeadLetter !== 'wait') {
        throw invalidDefinition(`${what}: onDeadLetter must be fail or wait`)
      }
      const limitMs = timeout === undefined ? undefined : readDuration(`${what}: timeout`, timeout)
      return { kind, event, limitMs, onDeadLetter }
    }
    default:
      requireFunction(`${what}: run`, options['run'])
      return { kind, run: options['run'] }
  }
}

function readSleep(
  what: string,
  { for: time, until }: Options,
): (context: ReadyContext<unknown, unknown>) => WakeTime {
  if ((time === undefined) === (until === undefined)) {
    throw invalidDefinition(`${what}: a sleep has either a for or an until`)
  }
  if (typeof time === 'string') {
    const inMs = readDuration(`${what}: for`, time as Duration)
    return () => ({ inMs })
  }
  if (time !== undefined) {
    requireFunction(`${what}: for`, time)
    return (context) => {
      const given = time(context)
      const inMs = typeof given === 'string' ? readDuration(`${what}: for`, given as Duration) : given
      if (!Number.isFinite(inMs)) throw new TypeError(`${what}: for gave no duration`)
      if (inMs > DURATION_MS_MAX) throw new TypeError(`${what}: for gave more than ${DURATION_MS_MAX} ms`)
      return { inMs: Math.max(0, Math.round(inMs)) }
    }
  }
  requireFunction(`${what}: until`, until)
  return (context) => {
    const atMs = new Date(until(context)).getTime()
    if (Number.isNaN(atMs)) throw new TypeError(`${what}: until gave no time`)
    if (atMs > TIME_MS_MAX) throw new TypeError(`${what}: until gave a time after the year 9999`)
    // Clamped: PostgreSQL has no year 0, and does not parse years before it as JavaScript writes them.
    return { at: new Date(Math.max(0, atMs)) }
  }
}

function requireFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidDefinition(`${what} must be a function`)
}
