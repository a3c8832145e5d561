import { parseArgs } from 'node:util'
import { type Neighbour, neighbourNames } from '../parts/measure-isolation.js'

const partNames = [
  'throughput',
  'latency',
  'fan-out',
  'large-fan-out',
  'ingestion',
  'isolation',
  'endpoints',
  'partitions',
  'growth',
  'idle',
  'memory',
] as const
/** Long, and the same from run to run. */
const onlyOnRequest: readonly PartName[] = ['memory']
type PartName = (typeof partNames)[number]

export interface BenchOptions {
  quick: boolean
  only: readonly PartName[]
  /** Interleaved turns of every system. */
  rounds: number
  /** Approximate length of each turn, by the rate of the warm-up. */
  roundS: number
  /** Requests in flight at once, in every system. */
  concurrency: number
  /** Events per second of the latency part. */
  rates: readonly number[]
  /** Beside which endpoints the isolation part measures the others. */
  neighbours: readonly Neighbour[]
  /** Completed deliveries that the growth part fills the tables with. */
  grownSagas: number
  /** Events of the large fan-out, and subscriptions of each. */
  largeFanOut: readonly [number, number]
  /** Those of the endpoints part. */
  endpoints: number
  /** Ranges of event ids in the partitions part. */
  ranges: number
  /** How long the memory part goes on. */
  memoryMinutes: number
  jsonFile: string | undefined
  plotsFolder: string
  /** Where Node's CPU profiles of Sagapost's process go. */
  profileFolder: string | undefined
  /** With the `bin` of another PostgreSQL than the embedded one. */
  postgresFolder: string | undefined
}

export const usage = `npm run bench -- [options]

  --quick             throughput, ratios and latency at one rate, in under three minutes
  --only a,b          of ${partNames.join(', ')}
  --rounds n          interleaved turns of every system (7; quick: 3)
  --seconds s         about so long each turn (5; quick: 2)
  --concurrency n     requests in flight at once, in every system (200)
  --rates a,b         events per second of the latency part (1,10,100,1000; quick: 100)
  --neighbours a,b    of ${neighbourNames.join(', ')}: beside which endpoints the isolation part measures (all)
  --grown n           completed deliveries that the tables are filled with for the growth part (2000000)
  --large n,m         events of the large fan-out and subscriptions of each (20,5000)
  --endpoints n       those that get an event each in the endpoints part (10000)
  --ranges n          ranges of event ids in the partitions part, beside 3 (301)
  --minutes n         how long the memory part goes on, which runs only when it is named (15)
  --json FILE         the results for machines
  --plots FOLDER      where the plots go (bench/output)
  --profile FOLDER    where CPU profiles of Sagapost's own process go
  --postgres FOLDER   another PostgreSQL than the embedded one, which was compiled for size: as in /usr/lib/postgresql/15`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      concurrency: { type: 'string' },
      rates: { type: 'string' },
      neighbours: { type: 'string' },
      grown: { type: 'string' },
      large: { type: 'string' },
      endpoints: { type: 'string' },
      ranges: { type: 'string' },
      minutes: { type: 'string' },
      json: { type: 'string' },
      plots: { type: 'string' },
      profile: { type: 'string' },
      postgres: { type: 'string' },
    },
  })
  if (values.help) return undefined
  const { quick } = values
  return {
    quick,
    only: values.only
      ? values.only.split(',').map(toPart)
      : quick
        ? ['throughput', 'latency']
        : partNames.filter((name) => !onlyOnRequest.includes(name)),
    rounds: toNumber('rounds', values.rounds ?? (quick ? '3' : '7'), 1, 1_000),
    roundS: toNumber('seconds', values.seconds ?? (quick ? '2' : '5'), 0.1, 600),
    concurrency: toNumber('concurrency', values.concurrency ?? '200', 2, 1_000),
    rates: (values.rates ?? (quick ? '100' : '1,10,100,1000'))
      .split(',')
      .map((rate) => toNumber('rates', rate, 0.1, 100_000)),
    neighbours: values.neighbours?.split(',').map(toNeighbour) ?? neighbourNames,
    grownSagas: toNumber('grown', values.grown ?? '2000000', 1_000, 100_000_000),
    largeFanOut: toPair('large', values.large ?? '20,5000'),
    endpoints: toNumber('endpoints', values.endpoints ?? '10000', 100, 100_000),
    ranges: toNumber('ranges', values.ranges ?? '301', 4, 2_000),
    memoryMinutes: toNumber('minutes', values.minutes ?? '15', 0.05, 1_000),
    jsonFile: values.json,
    plotsFolder: values.plots ?? 'bench/output',
    profileFolder: values.profile,
    postgresFolder: values.postgres,
  }
}

function toPart(text: string): PartName {
  const part = partNames.find((name) => name === text)
  if (!part) throw new Error(`--only knows ${partNames.join(', ')}, not "${text}"`)
  return part
}

function toPair(name: string, text: string): [number, number] {
  const [first = '', second = '', ...rest] = text.split(',')
  if (rest.length > 0) throw new Error(`--${name} must be two numbers, not "${text}"`)
  return [toNumber(name, first, 1, 1_000_000), toNumber(name, second, 1, 1_000_000)]
}

function toNeighbour(text: string): Neighbour {
  const neighbour = neighbourNames.find((name) => name === text)
  if (!neighbour) throw new Error(`--neighbours knows ${neighbourNames.join(', ')}, not "${text}"`)
  return neighbour
}

function toNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text === '' || !(value >= min && value <= max)) {
    throw new Error(`--${name} must be a number from ${min} to ${max}, not "${text}"`)
  }
  return value
}
