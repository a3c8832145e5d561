/** What an idle `sagapost dev` costs: CPU of the process and of its PostgreSQL, in % of one core. */
import { setTimeout as pause } from 'node:timers/promises'
import { startDev } from './harness/start-dev.js'

/** Until the garbage of the start is collected, which V8 does within the first minute of quiet. */
const SETTLE_MS = 60_000
const MEASURE_MS = 60_000

const dev = await startDev()
try {
  await pause(SETTLE_MS)
  const before = dev.spentS()
  const startedAt = performance.now()
  await pause(MEASURE_MS)
  const seconds = (performance.now() - startedAt) / 1000
  const percent = (spentS: number) => ((spentS / seconds) * 100).toFixed(2)
  const after = dev.spentS()
  const node = after.node - before.node
  const postgres = after.postgres - before.postgres
  console.log(`idle for ${seconds.toFixed(0)} s, in % of a core:`)
  console.log(`  node ${percent(node)}  postgres ${percent(postgres)}  together ${percent(node + postgres)}`)
} finally {
  await dev.stop()
}
