import type { Percentiles } from '../harness/summarise-samples.js'
import type { Report } from './build-report.js'
import { type Bar, drawBars } from './draw-bars.js'

/** The plots that the run has numbers for. */
export function drawReport({
  throughput,
  latency,
  fanOut,
  isolation,
}: Report): { file: string; svg: string }[] {
  const plots: { file: string; svg: string }[] = []
  const add = (file: string, ...drawing: Parameters<typeof drawBars>) =>
    plots.push({ file, svg: drawBars(...drawing) })
  if (throughput) {
    add(
      'throughput.svg',
      'Deliveries per second',
      'median of the rounds, line: least to most; enqueueing runs alongside',
      throughput.systems.map(({ name, perSecond: { median: value, min, max } }) => ({
        label: name,
        value,
        min,
        max,
      })),
    )
    add(
      'cpu.svg',
      'CPU per delivery',
      'ms, PostgreSQL and the processes of the system; median of the rounds',
      throughput.systems.flatMap(({ name, postgresCpuMs, nodeCpuMs }): Bar[] => [
        ...(nodeCpuMs ? [{ label: `${name}: node`, value: nodeCpuMs.median }] : []),
        ...(postgresCpuMs ? [{ label: `${name}: PostgreSQL`, value: postgresCpuMs.median }] : []),
      ]),
      3,
    )
  }
  if (latency) {
    add(
      'latency.svg',
      'From acknowledged publish to arrival',
      'ms, Sagapost in one process',
      latency.flatMap((of) => percentileBars(`${of.perSecond}/s`, of)),
      1,
    )
  }
  if (isolation) {
    add(
      'isolation.svg',
      "The others' latency beside an endpoint with a backlog",
      'ms',
      isolation.neighbours.flatMap(({ neighbour, without, beside }) => [
        ...percentileBars('alone', without),
        ...percentileBars(`beside a ${neighbour} one`, beside),
      ]),
      1,
    )
  }
  if (fanOut) {
    add(
      'fan-out.svg',
      'Deliveries per second by fan-out',
      'median of the rounds, line: least to most',
      fanOut.map((of) => ({
        label: `1 event, ${of.fanOut} deliveries`,
        value: of.perSecond.median,
        min: of.perSecond.min,
        max: of.perSecond.max,
      })),
    )
  }
  return plots
}

function percentileBars(name: string, of: Percentiles): Bar[] {
  return (['p50', 'p95', 'p99'] as const).flatMap((percentile) => {
    const value = of[percentile]
    return value === null ? [] : [{ label: `Sagapost ${name} ${percentile}`, value }]
  })
}
