/** What the dashboard costs: CPU of the server and of its PostgreSQL by the number of live viewers, and the time to open. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBrowser } from '../test/dashboard/open-browser.js'
import { cpuSeconds, withChildren } from './harness/read-usage.js'

const SETTLE_MS = 20_000
const MEASURE_MS = 20_000
const VIEWERS = [0, 1, 50, 200]
const OPENINGS = 7
const KEY = 'the-key-of-the-benchmark'

const dataDir = mkdtempSync(join(tmpdir(), 'sagapost-dashboard-'))
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const child = spawn(process.execPath, [main, 'dev'], {
  env: { ...process.env, SAGAPOST_DATA_DIR: dataDir, PORT: '0', DATABASE_URL: '', SAGAPOST_API_KEY: KEY },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = once(child, 'close')
try {
  const url = await startedAt()
  await pause(SETTLE_MS)
  const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
  console.log('viewers   node %   postgres %   bytes/s of each')
  for (const viewers of VIEWERS) {
    const streams = await Promise.all(Array.from({ length: viewers }, () => watch(url)))
    await pause(5_000)
    const before = {
      node: spentBy([child.pid as number]),
      postgres: spentBy(withChildren(postmaster)),
      bytes: sum(streams),
    }
    await pause(MEASURE_MS)
    const percent = (spent: number) => ((spent / (MEASURE_MS / 1000)) * 100).toFixed(2).padStart(8)
    const bytes = (sum(streams) - before.bytes) / (MEASURE_MS / 1000) / Math.max(1, viewers)
    const node = percent(spentBy([child.pid as number]) - before.node)
    const postgres = percent(spentBy(withChildren(postmaster)) - before.postgres)
    console.log(`${String(viewers).padStart(7)} ${node} ${postgres}     ${bytes.toFixed(0).padStart(8)}`)
    for (const { stop } of streams) stop()
  }
  await timeOpening(url)
} finally {
  child.kill('SIGTERM')
  await ended
  rmSync(dataDir, { recursive: true })
}

async function timeOpening(url: string): Promise<void> {
  const browser = await openBrowser()
  const cold: number[] = []
  const warm: number[] = []
  for (let n = 0; n < OPENINGS; n++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
    const page = await context.newPage()
    const begunAt = performance.now()
    await page.goto(url)
    await page.getByLabel('API key').waitFor()
    cold.push(performance.now() - begunAt)
    await page.getByLabel('API key').fill(KEY)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const againAt = performance.now()
    await page.goto(url)
    await page.getByText('What waits, stage by stage').waitFor()
    await page.getByRole('img', { name: /^Throughput/ }).waitFor()
    warm.push(performance.now() - againAt)
    await context.close()
  }
  await browser.close()
  const median = (times: number[]) =>
    times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]?.toFixed(0)
  console.log(`to open, median of ${OPENINGS}: sign-in page with an empty cache ${median(cold)} ms,`)
  console.log(`  overview with its first live snapshot, cached ${median(warm)} ms`)
}

async function startedAt(): Promise<string> {
  let printed = ''
  child.stdout.setEncoding('utf8')
  // It prints more later: whoever stops reading would break its pipe.
  const url = new Promise<string>((resolve) => {
    child.stdout.on('data', (chunk: string) => {
      printed += chunk
      const found = printed.includes('is ready at') && /http:\/\/[\d.]+:\d+/.exec(printed)?.[0]
      if (found) resolve(found)
    })
  })
  return Promise.race([url, ended.then(() => Promise.reject(new Error('it did not start')))])
}

async function watch(url: string): Promise<{ bytes: () => number; stop: () => void }> {
  const asked = request(`${url}/v1/live`, { headers: { authorization: `Bearer ${KEY}` }, agent: false }).end()
  const [response] = await once(asked, 'response')
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  response.on('error', () => {})
  return { bytes: () => bytes, stop: () => asked.destroy() }
}

function sum(streams: readonly { bytes: () => number }[]): number {
  return streams.reduce((all, { bytes }) => all + bytes(), 0)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function spentBy(pids: readonly number[]): number {
  return cpuSeconds(pids) ?? Number.NaN
}
