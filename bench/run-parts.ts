import type { Bench } from './harness/open-bench.js'
import { measureEndpoints } from './parts/measure-endpoints.js'
import { measureFanOut } from './parts/measure-fan-out.js'
import { measureGrowth } from './parts/measure-growth.js'
import { measureIdle } from './parts/measure-idle.js'
import { measureIngestion } from './parts/measure-ingestion.js'
import { measureIsolation } from './parts/measure-isolation.js'
import { measureLargeFanOut } from './parts/measure-large-fan-out.js'
import { measureLatency } from './parts/measure-latency.js'
import { measureMemory } from './parts/measure-memory.js'
import { measurePartitions } from './parts/measure-partitions.js'
import { measureThroughput } from './parts/measure-throughput.js'
import type { Results } from './report/build-report.js'

/** One part after the other, those that were asked for; each leaves nothing running. */
export async function runParts(bench: Bench): Promise<Results> {
  const asked = new Set(bench.options.only)
  return {
    throughput: asked.has('throughput') ? await measureThroughput(bench) : null,
    latency: asked.has('latency') ? await measureLatency(bench) : null,
    fanOut: asked.has('fan-out') ? await measureFanOut(bench) : null,
    largeFanOut: asked.has('large-fan-out') ? await measureLargeFanOut(bench) : null,
    ingestion: asked.has('ingestion') ? await measureIngestion(bench) : null,
    isolation: asked.has('isolation') ? await measureIsolation(bench) : null,
    endpoints: asked.has('endpoints') ? await measureEndpoints(bench) : null,
    partitions: asked.has('partitions') ? await measurePartitions(bench) : null,
    growth: asked.has('growth') ? await measureGrowth(bench) : null,
    idle: asked.has('idle') ? await measureIdle(bench) : null,
    memory: asked.has('memory') ? await measureMemory(bench) : null,
  }
}
