import { Gauge, type Registry } from 'prom-client'
import type { BacklogCollector } from '../backlog/index.js'

/** Puts the backlogs into gauges; the returned function brings them up to date. */
export function showBacklog(registry: Registry, collector: BacklogCollector): () => Promise<void> {
  const registers = [registry]
  const up = new Gauge({
    name: 'sagapost_backlog_up',
    help: '1 when the backlogs could be read from the database, 0 when not',
    registers,
  })
  const backlog = new Gauge({
    name: 'sagapost_backlog',
    help: 'Items waiting at each stage, counted up to 100,000',
    labelNames: ['stage'],
    registers,
  })
  const oldestAge = new Gauge({
    name: 'sagapost_oldest_age_seconds',
    help: 'Age of the oldest item waiting at a stage, by the database clock',
    labelNames: ['stage'],
    registers,
  })

  return async function refresh() {
    const stages = await collector.collect()
    // Absent rather than 0 or the last value, as the value is unknown.
    backlog.reset()
    oldestAge.reset()
    up.set(stages === null ? 0 : 1)
    for (const { stage, count, oldestAgeS } of stages ?? []) {
      backlog.set({ stage }, count)
      if (oldestAgeS !== null) oldestAge.set({ stage }, oldestAgeS)
    }
  }
}
