import { parseArgs } from 'node:util'
import { type FaultKind, faultKinds } from './schedule/fault.js'

const scenarios = ['schedules', 'recovery', 'hostile'] as const
type Scenario = (typeof scenarios)[number]

export interface FaultOptions {
  scenario: Scenario
  /** Of the first schedule; the others follow it. */
  seed: number
  schedules: number
  /** No new schedule begins after this. */
  minutes: number
  /** Per schedule. */
  events: number
  only: readonly FaultKind[]
  /** Where the results are appended. */
  resultsFile: string | undefined
  /** One JSON line for each schedule on stdout, and nothing else there. */
  json: boolean
  /** Stop at the first violation, and keep the folder with all logs. */
  keep: boolean
}

export const usage = `npm run test:faults -- [options]

  --seed n            of the first schedule, which it brings back; the others follow (drawn when absent)
  --schedules n       how many (5)
  --minutes n         no new schedule after this time (30)
  --events n          published and acknowledged in each (5000)
  --only a,b          kinds of faults: ${faultKinds.join(', ')}
  --scenario name     ${scenarios.join(', ')} (schedules)
  --results FILE      append the results there as JSON lines
  --json              JSON lines on stdout
  --keep              stop at the first violation, and keep all logs`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): FaultOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean' },
      seed: { type: 'string' },
      schedules: { type: 'string' },
      minutes: { type: 'string' },
      events: { type: 'string' },
      only: { type: 'string' },
      scenario: { type: 'string' },
      results: { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  return {
    scenario: oneOf('scenario', scenarios, values.scenario ?? 'schedules'),
    seed: toNumber('seed', values.seed ?? String(Math.floor(Math.random() * 1_000_000) * 10), 0, 2 ** 31),
    schedules: toNumber('schedules', values.schedules ?? '5', 1, 100_000),
    minutes: toNumber('minutes', values.minutes ?? '30', 0.1, 10_000),
    events: toNumber('events', values.events ?? '5000', 100, 1_000_000),
    only: values.only ? values.only.split(',').map((name) => oneOf('only', faultKinds, name)) : faultKinds,
    resultsFile: values.results,
    json: values.json,
    keep: values.keep,
  }
}

function oneOf<Name extends string>(option: string, names: readonly Name[], text: string): Name {
  const found = names.find((name) => name === text)
  if (found === undefined) throw new Error(`--${option} knows ${names.join(', ')}, not "${text}"`)
  return found
}

function toNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text === '' || !(value >= min && value <= max)) {
    throw new Error(`--${name} must be a number from ${min} to ${max}, not "${text}"`)
  }
  return value
}
