import { summarise } from '../../bench/harness/summarise-samples.js'
import type { ScheduleLine } from '../result-line.js'
import type { HostileLine } from '../scenarios/run-hostile.js'
import type { RecoveryLine } from '../scenarios/run-recovery.js'
import { faultKinds } from '../schedule/fault.js'
import type { Results } from './read-results.js'

/** Made by `npm run faults:report`: the page says only what the lines say. */
export function drawFaultReport(results: Results): string {
  return [
    '# What the fault harness found',
    'Made by `npm run faults:report` from `faults/results/*.jsonl`; do not edit. [The fault harness](faults.md) says how the numbers come about.',
    ...drawSchedules(results.schedules),
    ...drawRecoveries(results.recoveries),
    ...drawHostile(results.hostile),
    '',
  ].join('\n\n')
}

function drawSchedules(lines: readonly ScheduleLine[]): string[] {
  const sum = (of: (line: ScheduleLine) => number) => lines.reduce((total, line) => total + of(line), 0)
  const lost = sum(({ violations }) => violations.filter(({ name }) => LOSSES.includes(name)).length)
  const commits = [...new Set(lines.map(({ commit }) => commit))]
  const broken = lines.filter(({ violations }) => violations.length > 0)
  return [
    '## Random schedules',
    table(
      ['', ''],
      [
        ['schedules', number(lines.length)],
        ['events acknowledged', number(sum(({ acknowledged }) => acknowledged))],
        ['events lost', number(lost)],
        ['deliveries completed', number(sum(({ completed }) => completed))],
        ['dead letters, all of them requeued', number(sum(({ deadLettered }) => deadLettered))],
        ['requests beyond one for each attempt', number(sum(({ duplicates }) => duplicates))],
        ['attempts whose report did not commit: the bound', number(sum(({ bound }) => bound))],
        ['schedules in which an invariant was violated', number(broken.length)],
        ['hours', (sum(({ tookMs }) => tookMs) / 3_600_000).toFixed(1)],
        ['commits', commits.join(', ')],
      ],
    ),
    ...(broken.length > 0 ? [drawViolations(broken)] : []),
    '### Faults by kind',
    drawFaults(lines),
    '### Recovery among other faults',
    drawRecoveryOf(lines),
    '### What the API answered',
    'Every answer to a publisher or an operator, whatever was broken at the moment. What is not acknowledged is sent again under the same key.',
    drawAnswers(lines),
  ]
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
  const rows = faultKinds.map((kind) => {
    const done = lines.reduce((total, { faults }) => total + (faults[kind] ?? 0), 0)
    const reasons = new Map<string, number>()
    for (const { notRun } of lines) {
      for (const { why } of notRun.filter((each) => each.kind === kind)) {
        const reason = why.replace(/^.* (was not reached)$/, 'its statement $1').replace(/:.*$/, '')
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      }
    }
    const notRun = [...reasons].map(([why, times]) => `${times}: ${why}`)
    return [kind, number(done), notRun.join('; ') || '–']
  })
  return table(['fault', 'done', 'not run'], rows)
}

function drawRecoveryOf(lines: readonly ScheduleLine[]): string {
  const samples = lines.flatMap(({ recoveryMs }) => recoveryMs.filter((ms) => ms !== null))
  if (samples.length === 0) return 'None was measured.'
  const sorted = samples.toSorted((a, b) => a - b)
  const { median, max } = summarise(samples)
  const p95 = sorted[Math.floor((sorted.length - 1) * 0.95)] ?? 0
  const within = samples.filter((ms) => ms <= 5_000).length
  return `From PostgreSQL's first connection to the first delivery that was claimed and done since, while other faults go on (workers that are dead, connections that are cut): ${number(samples.length)} times, median ${seconds(median)}, 95 % within ${seconds(p95)}, at most ${seconds(max)}; ${number(within)} within 5 s.`
}

function drawAnswers(lines: readonly ScheduleLine[]): string {
  const answers = new Map<string, number>()
  for (const line of lines) {
    for (const [answer, times] of Object.entries(line.answers))
      answers.set(answer, (answers.get(answer) ?? 0) + times)
  }
  return table(
    ['answer', 'times'],
    [...answers].sort(([, a], [, b]) => b - a).map(([answer, times]) => [answer, number(times)]),
  )
}

function drawRecoveries(lines: readonly RecoveryLine[]): string[] {
  if (lines.length === 0) return []
  const rows = lines.map(({ what, awayMs, tookMs, limitMs, acknowledged, violations, commit }) => [
    what,
    seconds(awayMs),
    tookMs === null ? '–' : seconds(tookMs),
    seconds(limitMs),
    number(acknowledged),
    number(violations.length),
    commit,
  ])
  return [
    '## Recovery, one fault at a time',
    '`--scenario recovery`: under load, with nothing else broken. `orphaned-jobs`: a worker is killed while its first report is on its way; the time is until the last of the jobs that it had under lease is in other hands. `crash-postgres` and `promote-standby`: until the first delivery that was claimed and done since PostgreSQL took connections again.',
    table(['fault', 'away', 'recovery', 'limit', 'acknowledged', 'violations', 'commit'], rows),
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
      `${perSecond.alone}, ${perSecond.beside}`,
      ...[ms(alone.latencyMs.p50), ms(alone.latencyMs.p99), p99(burst), p99(later)],
      [alone, burst, later].map(({ memoryMb }) => memoryMb).join(', '),
      ...[number(hostileRequests), commit],
    ]
  })
  return [
    `## ${number(line.receivers)} hostile receivers`,
    '`--scenario hostile`: a quarter each hangs, drips, floods and resets, all of them all the time, beside a healthy one, which alone gets as many events (in the first runs it got fewer, so that they compare with less). First all of them get their first event at once; then each has been tried. From the acknowledgement of an event to its arrival (goal for p99: 2 × of what it is alone); peaks of one worker’s resident memory in the three phases (goal: 100 MB more). All settings are the defaults. Runs of committed code with nothing else at work, oldest first.',
    table(
      [
        ...[
          'events/s, alone and beside',
          'p50 alone',
          'p99 alone',
          'p99 beside their first events',
          'p99 when each has been tried',
        ],
        ...['memory, MB', 'hostile requests', 'commit'],
      ],
      rows,
    ),
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

const number = (value: number) => value.toLocaleString('en-US')
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
