/** What an idle `sagapost dev` costs: CPU of the process and of its PostgreSQL, in % of one core. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CLOCK_TICKS_PER_S = 100
/** Until the garbage of the start is collected, which V8 does within the first minute of quiet. */
const SETTLE_MS = 60_000
const MEASURE_MS = 60_000

const dataDir = mkdtempSync(join(tmpdir(), 'sagapost-idle-'))
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const child = spawn(process.execPath, [main, 'dev'], {
  env: { ...process.env, SAGAPOST_DATA_DIR: dataDir, PORT: '0', DATABASE_URL: '' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = once(child, 'close')
try {
  let printed = ''
  // It prints more later: whoever stops reading would break its pipe.
  const ready = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk
      if (printed.includes('is ready at')) resolve()
    })
  })
  await Promise.race([ready, ended.then(() => Promise.reject(new Error('it did not start')))])
  await pause(SETTLE_MS)
  const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
  const before = { node: ticks(child.pid as number), postgres: treeTicks(postmaster) }
  const startedAt = performance.now()
  await pause(MEASURE_MS)
  const seconds = (performance.now() - startedAt) / 1000
  const percent = (spent: number) => ((spent / CLOCK_TICKS_PER_S / seconds) * 100).toFixed(2)
  const node = ticks(child.pid as number) - before.node
  const postgres = treeTicks(postmaster) - before.postgres
  console.log(`idle for ${seconds.toFixed(0)} s, in % of a core:`)
  console.log(`  node ${percent(node)}  postgres ${percent(postgres)}  together ${percent(node + postgres)}`)
} finally {
  child.kill('SIGTERM')
  await ended
  rmSync(dataDir, { recursive: true })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** User and system time, and that of the children that have ended. */
function ticks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
}

function treeTicks(parent: number): number {
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(parent)
    } catch {
      return false // it ended meanwhile
    }
  })
  return [String(parent), ...children].reduce((sum, pid) => sum + ticks(Number(pid)), 0)
}
