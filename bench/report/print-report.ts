import { type Percentiles, type Summary, summarise } from '../harness/summarise-samples.js'
import { ratioNames } from '../parts/measure-throughput.js'
import type { Report } from './build-report.js'
import { printTable, show } from './print-table.js'

/** Every number with its spread over the rounds: median (least–most). */
export function printReport(report: Report): void {
  const { machine, settings } = report
  console.log(
    `\n${machine.cores} cores, ${machine.cpu}, ${machine.memoryGb} GB, ${machine.system}, ` +
      `Node ${machine.node}, PostgreSQL ${machine.postgres}; ${settings.rounds} rounds of about ${settings.roundS} s, ` +
      `${settings.concurrency} requests in flight, bodies of ${settings.bodyBytes} bytes\n`,
  )
  printThroughput(report)
  printLatency(report)
  printOthers(report)
  if (report.goals.length > 0) {
    printTable(
      ['goal', 'target', 'value', ''],
      report.goals.map(({ goal, target, value, met }) => [
        goal,
        target,
        show(value, 2),
        met ? 'met' : 'MISSED',
      ]),
    )
  }
}

function printThroughput({ throughput }: Report): void {
  if (!throughput) return
  printTable(
    [
      'system',
      'deliveries/s',
      'PG CPU ms',
      'node CPU ms',
      'WAL bytes',
      'commits',
      'buffers',
      'HOT',
      'memory MB',
    ],
    throughput.systems.map((system) => [
      system.name,
      spread(system.perSecond),
      show(system.postgresCpuMs?.median, 3),
      show(system.nodeCpuMs?.median, 3),
      show(system.walBytes?.median),
      show(system.commits, 3),
      show(system.buffers),
      system.hotShare === null ? '–' : `${show(system.hotShare * 100)} %`,
      system.memoryMb.map(({ peak }) => peak.toFixed(0)).join('+'),
    ]),
  )
  const { oneProcess, separateProcesses } = throughput.ratios
  printTable(
    ['ratio, within each round', 'one process', 'separate processes'],
    (Object.keys(ratioNames) as (keyof typeof ratioNames)[]).map((to) => [
      `to ${ratioNames[to]}`,
      spread(oneProcess[to], 2),
      spread(separateProcesses[to], 2),
    ]),
  )
  console.log(`a read anywhere in 16 MiB of memory: ${spread(throughput.memoryReadNs)} ns\n`)
}

const percentileHeader = ['p50', 'p95', 'p99', 'most', 'samples']
const percentileCells = (of: Percentiles, digits = 1) => [
  ...[of.p50, of.p95, of.p99, of.max].map((value) => show(value, digits)),
  String(of.samples),
]

function printLatency({ latency, isolation }: Report): void {
  if (latency) {
    printTable(
      ['latency, ms, acknowledged to arrived', ...percentileHeader],
      latency.map((of) => [`at ${of.perSecond} events/s`, ...percentileCells(of)]),
    )
  }
  if (isolation) {
    printTable(
      [
        `the others' latency, ms, at ${isolation.perSecond} events/s`,
        ...percentileHeader,
        'p50, p99 to alone',
      ],
      isolation.neighbours.flatMap(({ neighbour, waiting, without, beside, p50Ratio, p99Ratio }) => [
        ['alone', ...percentileCells(without), ''],
        [
          `beside a ${neighbour} one, ${waiting} deliveries`,
          ...percentileCells(beside),
          `${show(p50Ratio, 1)}, ${show(p99Ratio, 1)}`,
        ],
      ]),
    )
  }
}

function printOthers({
  fanOut,
  largeFanOut,
  ingestion,
  endpoints,
  partitions,
  growth,
  idle,
  memory,
}: Report): void {
  if (fanOut) {
    printTable(
      ['fan-out', 'deliveries/s', 'PG CPU ms', 'WAL bytes'],
      fanOut.map((of) => [
        String(of.fanOut),
        spread(of.perSecond),
        show(of.postgresCpuMs, 3),
        show(of.walBytes),
      ]),
    )
  }
  if (largeFanOut) {
    const { events, subscriptions, perSecond, postgresCpuMs, routerMb, loneMs, loneLeft } = largeFanOut
    printTable(
      ['large fan-out', 'routed/s', 'PG CPU ms', 'router MB', 'not routed', ...percentileHeader],
      [
        [
          `${events} × ${subscriptions}, lone events meanwhile, ms`,
          ...[show(perSecond), show(postgresCpuMs, 3), show(routerMb), String(loneLeft)],
          ...percentileCells(loneMs),
        ],
      ],
    )
  }
  if (ingestion) {
    const { connections, batch, perSecond, cpuMs, groupCommitGain, groupCommitGainKeyed } = ingestion
    const cells = (way: keyof typeof perSecond) => [
      spread(perSecond[way]),
      show(cpuMs[way].client, 3),
      show(cpuMs[way].server, 3),
      show(cpuMs[way].postgres, 3),
    ]
    printTable(
      ['ingestion over HTTP', 'events/s', 'client CPU ms', 'server CPU ms', 'PG CPU ms'],
      [
        [`single posts, ${connections} connections`, ...cells('single')],
        ['one commit for each post', ...cells('oneCommitPerPost')],
        ['single posts with a key', ...cells('singleKeyed')],
        ['one commit for each, with a key', ...cells('oneCommitPerPostKeyed')],
        [`batches of ${batch}`, ...cells('batches')],
      ],
    )
    printTable(
      ['single posts to one commit for each, within each round', 'ratio'],
      [
        ['without a key', spread(groupCommitGain, 2)],
        ['with a key', spread(groupCommitGainKeyed, 2)],
      ],
    )
  }
  if (endpoints) {
    const { without, withHanging } = endpoints
    const cells = ({ cold, warm, restarted }: typeof withHanging) =>
      [cold, warm, restarted].map((rate) => `${show(rate)} (${show(rate / without.alone, 2)})`)
    printTable(
      [
        `${endpoints.endpoints} endpoints, deliveries/s (to one: ${show(without.alone)})`,
        'new',
        'warm',
        'restarted',
      ],
      [
        ['an event each', ...cells(without)],
        [`beside ${endpoints.hanging} that hang`, ...cells(withHanging)],
      ],
    )
    console.log(`memory with them, at its largest: ${show(endpoints.memoryMb)} MB\n`)
  }
  if (partitions) {
    printTable(
      [
        'ranges',
        'deliveries/s',
        'PG idle, %',
        'invariants, ms',
        ...percentileHeader.map((name) => `lone ${name}`),
      ],
      partitions.map((of) => [
        String(of.ranges),
        show(of.perSecond),
        show(of.idlePercent, 2),
        show(of.invariantsMs),
        ...percentileCells(of.loneMs),
      ]),
    )
  }
  if (growth) {
    printTable(
      ['growth', 'deliveries/s', ...percentileHeader.map((name) => `claim ${name}`)],
      [
        ['empty tables', spread(growth.perSecond.empty), ...percentileCells(growth.claimMs.empty, 2)],
        [
          `${growth.sagas} completed deliveries`,
          spread(growth.perSecond.grown),
          ...percentileCells(growth.claimMs.grown, 2),
        ],
      ],
    )
  }
  if (idle) {
    console.log(
      `idle, in % of a core: node ${show(idle.nodePercent, 2)}, PostgreSQL ${show(idle.postgresPercent, 2)}; ` +
        `memory ${show(idle.memoryMb)} MB\n`,
    )
  }
  if (memory) {
    const { min, median, max } = summarise(memory.samples.map(({ mb }) => mb))
    console.log(
      `memory over ${memory.minutes} minutes and ${memory.deliveries} deliveries, MB: ` +
        `${show(median)} (${show(min)}–${show(max)}); the last third to the one before ${show(memory.growthRatio, 3)}\n`,
    )
  }
}

function spread({ median, min, max }: Summary, digits = 0): string {
  return `${show(median, digits)} (${show(min, digits)}–${show(max, digits)})`
}
