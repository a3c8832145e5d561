import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Each sample wakes the process, even when it is idle. */
const EVENT_LOOP_RESOLUTION_MS = 100
const NS_PER_S = 1e9
const US_PER_S = 1e6

/**
 * One for the process, however many registries it has: a monitor is a timer that nobody collects. It does not keep
 * the process alive.
 */
let eventLoopDelay: IntervalHistogram | undefined

/**
 * What Node knows of the process, under the names that dashboards for Node expect. Not prom-client's own collection:
 * that one starts a monitor and a garbage-collection observer for each registry and can stop neither, and its lag is
 * NaN, or 292 years, when two scrapes follow each other closely.
 */
export function measureProcess(registry: Registry): () => void {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })

  gauge('process_start_time_seconds', 'When the process started, in Unix time').set(
    Math.round(performance.timeOrigin) / 1000,
  )
  const cpuUser = counter('process_cpu_user_seconds_total', 'CPU time in user mode')
  const cpuSystem = counter('process_cpu_system_seconds_total', 'CPU time in system mode')
  const residentMemory = gauge('process_resident_memory_bytes', 'Resident memory')
  const heapTotal = gauge('nodejs_heap_size_total_bytes', 'Heap reserved by V8')
  const heapUsed = gauge('nodejs_heap_size_used_bytes', 'Heap in use')
  const externalMemory = gauge('nodejs_external_memory_bytes', 'Memory outside the heap, including buffers')
  const loopActive = counter('nodejs_eventloop_active_seconds_total', 'Time the event loop was busy')
  const lagP50 = gauge(
    'nodejs_eventloop_lag_p50_seconds',
    'Lag of the event loop since the last scrape, median',
  )
  const lagP99 = gauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Lag of the event loop since the last scrape, 99th percentile',
  )
  const lagMax = gauge(
    'nodejs_eventloop_lag_max_seconds',
    'Lag of the event loop since the last scrape, longest',
  )

  if (eventLoopDelay === undefined) {
    eventLoopDelay = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS })
    eventLoopDelay.enable()
  }
  const delay = eventLoopDelay
  // The monitor measures the time between two of its ticks; what is above the resolution is lag. After a reset the
  // first tick only starts the clock: a block that begins within 100 ms after a scrape is not seen.
  const lagS = (ns: number) => Math.max(0, ns / NS_PER_S - EVENT_LOOP_RESOLUTION_MS / 1000)

  return function measure() {
    const cpu = process.cpuUsage()
    setTotal(cpuUser, cpu.user / US_PER_S)
    setTotal(cpuSystem, cpu.system / US_PER_S)
    setTotal(loopActive, performance.eventLoopUtilization().active / 1000)
    const memory = process.memoryUsage()
    residentMemory.set(memory.rss)
    heapTotal.set(memory.heapTotal)
    heapUsed.set(memory.heapUsed)
    externalMemory.set(memory.external)
    lagP50.set(lagS(delay.percentile(50)))
    lagP99.set(lagS(delay.percentile(99)))
    lagMax.set(lagS(delay.max))
    delay.reset()
  }
}

function setTotal(counter: Counter, total: number): void {
  counter.reset()
  counter.inc(total)
}
