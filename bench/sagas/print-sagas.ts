import type { Machine } from '../report/describe-machine.js'
import { printTable, show } from '../report/print-table.js'
import type { SagaFigures } from './measure-sagas.js'

export function printSagas(figures: readonly SagaFigures[], machine: Machine): void {
  const { cores, cpu, memoryGb, postgres, node } = machine
  console.log(
    `Sagas of three steps, each with its result awaited. Medians of interleaved rounds (lowest–highest).`,
  )
  console.log(`${cores} cores (${cpu}), ${memoryGb} GB, PostgreSQL ${postgres}, Node ${node}, fsync on.\n`)
  printTable(
    [
      'at once',
      'system',
      'sagas',
      'sagas/s',
      'spread',
      'p50 ms',
      'p99 ms',
      'commits',
      'WAL bytes',
      'HOT %',
      'PostgreSQL CPU ms',
      'Node CPU ms',
    ],
    figures.map((each) => [
      String(each.concurrency),
      each.system,
      String(each.sagas),
      show(each.perSecond.median),
      `${show(each.perSecond.min)}–${show(each.perSecond.max)}`,
      show(each.latencyMs.p50, 2),
      show(each.latencyMs.p99, 2),
      show(each.commits, 2),
      show(each.walBytes.median),
      show(each.hotUpdatesPercent),
      show(each.postgresCpuMs, 2),
      show(each.nodeCpuMs, 2),
    ]),
  )
  for (const own of figures.filter(({ system }) => system === 'Sagapost')) {
    const other = figures.find((each) => each.system !== own.system && each.concurrency === own.concurrency)
    if (!other) continue
    const rate = own.perSecond.median / other.perSecond.median
    const p50 = (own.latencyMs.p50 ?? Number.NaN) / (other.latencyMs.p50 ?? Number.NaN)
    console.log(
      `${own.concurrency} at once: ${show(rate, 2)} times the rate of ${other.system}, ` +
        `${show(p50, 2)} times its p50, ${show(own.commits / other.commits, 2)} times its commits, ` +
        `${show(own.walBytes.median / other.walBytes.median, 2)} times its WAL`,
    )
  }
}
