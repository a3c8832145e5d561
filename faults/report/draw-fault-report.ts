import { summarise } from '../../bench/harness/summarise-samples.js'
import type { ScheduleLine } from '../result-line.js'
import type { HostileLine } from '../scenarios/run-hostile.js'
import type { RecoveryLine } from '../scenarios/run-recovery.js'
import { faultKinds } from '../schedule/fault.js'
import type { Results } from './read-results.js'

/** The page that `npm run faults:report` writes: it says only what the lines say. */
export function drawFaultReport(results: Results): string {
  const dates = [...results.schedules, ...results.recoveries, ...results.hostile].map(({ at }) =>
    at.slice(0, 10),
  )
  const [first, last] = [dates.toSorted().at(0), dates.toSorted().at(-1)]
  return [
    '# What the fault harness found',
    `Written by \`npm run faults:report\` from the results in \`faults/results\`, which Git ignores; do not edit. Runs of ${first === last ? first : `${first} to ${last}`}. [The fault harness](faults.md) describes the faults and the checks.`,
    ...drawSchedules(results.schedules),
    ...drawRecoveries(results.recoveries),
    ...drawHostile(results.hostile),
    '',
  ].join('\n\n')
}

function drawSchedules(lines: readonly ScheduleLine[]): string[] {
  if (lines.length === 0) return []
  const sum = (of: (line: ScheduleLine) => number) => lines.reduce((total, line) => total + of(line), 0)
  const lost = sum(({ violations }) => violations.filter(({ name }) => LOSSES.includes(name)).length)
  const broken = lines.filter(({ violations }) => violations.length > 0)
  return [
    '## Random schedules',
    `\`npm run test:faults -- --seed <seed> --schedules <count>\`, seeds ${drawSeeds(lines)}.`,
    [
      `- schedules: ${number(lines.length)}`,
      `- events acknowledged: ${number(sum(({ acknowledged }) => acknowledged))}`,
      `- events lost: ${number(lost)}`,
      `- deliveries completed: ${number(sum(({ completed }) => completed))}`,
      `- dead letters, all requeued: ${number(sum(({ deadLettered }) => deadLettered))}`,
      `- duplicate requests: ${number(sum(({ duplicates }) => duplicates))}`,
      `- bound on duplicates (attempts whose report did not commit): ${number(sum(({ bound }) => bound))}`,
      `- schedules that violated an invariant: ${number(broken.length)}`,
      `- hours: ${(sum(({ tookMs }) => tookMs) / 3_600_000).toFixed(1)}`,
      `- commits: ${commitsOf(lines)}`,
    ].join('\n'),
    ...(broken.length > 0 ? [drawViolations(broken)] : []),
    `**Faults:** ${drawFaults(lines)}.`,
    `**Answers of the API** to publishers and operators; a publisher repeats what is not acknowledged, with the same key: ${drawAnswers(lines)}.`,
    `**Recovery** from the first connection to PostgreSQL to the first delivery that was claimed and completed afterwards, while other faults continue: ${drawRecoveryOf(lines)}.`,
  ]
}

/** Runs of consecutive seeds: `10000–10006, 20000–20005`. */
function drawSeeds(lines: readonly ScheduleLine[]): string {
  const runs: [number, number][] = []
  for (const seed of lines.map((line) => line.seed).toSorted((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run && seed <= run[1] + 1) run[1] = seed
    else runs.push([seed, seed])
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ')
}

/** Violations that mean that an acknowledged event did not come to its end. */
const LOSSES = [
  'acknowledged_event_is_stored',
  'every_route_has_its_saga',
  'everything_ends',
  'answered_attempt_was_received',
]

function drawViolations(broken: readonly ScheduleLine[]): string {
  const rows = broken.flatMap(({ seed, commit, violations }) =>
    violations.map(({ name, detail }) => [
      String(seed),
      commit,
      name,
      detail.replaceAll('|', '/').slice(0, 200),
    ]),
  )
  return table(['seed', 'commit', 'what', 'detail'], rows)
}

function drawFaults(lines: readonly ScheduleLine[]): string {
  return faultKinds
    .map((kind) => {
      const done = lines.reduce((total, { faults }) => total + (faults[kind] ?? 0), 0)
      const reasons = new Map<string, number>()
      for (const { notRun } of lines) {
        for (const { why } of notRun.filter((each) => each.kind === kind)) {
          const reason = why.replace(/^.* (was not reached)$/, 'its statement $1').replace(/:.*$/, '')
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
        }
      }
      const notRun = [...reasons].map(([why, times]) => `${times} not run, ${why}`)
      return `\`${kind}\` ${number(done)}${notRun.length > 0 ? ` (${notRun.join('; ')})` : ''}`
    })
    .join(', ')
}

function drawRecoveryOf(lines: readonly ScheduleLine[]): string {
  const samples = lines.flatMap(({ recoveryMs }) => recoveryMs.filter((ms) => ms !== null))
  if (samples.length === 0) return 'not measured'
  const sorted = samples.toSorted((a, b) => a - b)
  const { median, max } = summarise(samples)
  const p95 = sorted[Math.floor((sorted.length - 1) * 0.95)] ?? 0
  const within = samples.filter((ms) => ms <= 5_000).length
  return `${number(samples.length)} times, median ${seconds(median)}, p95 ${seconds(p95)}, at most ${seconds(max)}; ${number(within)} within 5 s`
}

function drawAnswers(lines: readonly ScheduleLine[]): string {
  const answers = new Map<string, number>()
  for (const line of lines) {
    for (const [answer, times] of Object.entries(line.answers))
      answers.set(answer, (answers.get(answer) ?? 0) + times)
  }
  return [...answers]
    .sort(([, a], [, b]) => b - a)
    .map(([answer, times]) => `\`${answer}\` ${number(times)}`)
    .join(', ')
}

function drawRecoveries(lines: readonly RecoveryLine[]): string[] {
  if (lines.length === 0) return []
  const rows = [...new Set(lines.map(({ what }) => what))].map((what) => {
    const runs = lines.filter((line) => line.what === what)
    const took = runs.map(({ tookMs }) => tookMs).filter((ms) => ms !== null)
    const { median, min, max } = summarise(took)
    const limit = Math.max(...runs.map(({ limitMs }) => limitMs))
    const late = runs.filter(({ tookMs, limitMs }) => tookMs !== null && tookMs > limitMs)
    return [
      `\`${what}\``,
      number(runs.length),
      took.length === 0 ? '–' : `${seconds(median)} (${seconds(min)} to ${seconds(max)})`,
      seconds(limit),
      number(late.length),
      number(runs.reduce((total, { violations }) => total + violations.length, 0)),
    ]
  })
  const away = new Set(
    lines.filter(({ what }) => what === 'crash-postgres').map(({ awayMs }) => awayMs / 1000),
  )
  return [
    '## Recovery from one fault',
    `\`npm run test:faults -- --scenario recovery\`, under load, with nothing else broken (commits ${commitsOf(lines)}). \`crash-postgres\` leaves PostgreSQL down for ${[...away].toSorted((a, b) => a - b).join(', ')} s. \`orphaned-jobs\` kills a worker while its first report is on its way; the time is until other workers have claimed all jobs that it had leased. For the others it is until the first delivery that was claimed and completed after PostgreSQL accepted connections again.`,
    table(['fault', 'runs', 'median (least to most)', 'limit', 'over it', 'violations'], rows),
  ]
}

const fewerAlone = { alone: 50, beside: 83 }

function drawHostile(lines: readonly HostileLine[]): string[] {
  const [line] = lines
  if (line === undefined) return []
  const ms = (value: number | null) => (value === null ? '–' : `${value.toFixed(0)} ms`)
  const rows = lines.map(({ alone, burst, later, hostileRequests, perSecond = fewerAlone, commit }) => {
    const p99 = ({ latencyMs }: typeof alone) =>
      latencyMs.p99 === null || alone.latencyMs.p99 === null
        ? '–'
        : `${ms(latencyMs.p99)} (${(latencyMs.p99 / alone.latencyMs.p99).toFixed(2)} ×)`
    return [
      perSecond.alone === perSecond.beside
        ? String(perSecond.alone)
        : `${perSecond.alone}, then ${perSecond.beside}`,
      ...[ms(alone.latencyMs.p50), ms(alone.latencyMs.p99), p99(burst), p99(later)],
      [alone, burst, later].map(({ memoryMb }) => memoryMb).join(', '),
      ...[number(hostileRequests), commit],
    ]
  })
  return [
    `## ${number(line.receivers)} hostile receivers`,
    '`npm run test:faults -- --scenario hostile`, default settings, oldest run first. A quarter of the receivers hangs, a quarter drips, a quarter floods and a quarter resets, beside one healthy receiver. Latency is from the acknowledgement of an event to its arrival there: alone, beside the first events of all the others, and after each has been tried. Memory is the peak of one worker in these phases. The goals are twice the p99 alone and 100 MB more.',
    table(
      [
        'events/s',
        'p50 alone',
        'p99 alone',
        'first events',
        'later',
        'memory, MB',
        'hostile requests',
        'commit',
      ],
      rows,
    ),
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

const commitsOf = (lines: readonly { commit: string }[]) =>
  [...new Set(lines.map(({ commit }) => commit))].join(', ')
const number = (value: number) => value.toLocaleString('en-US')
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
