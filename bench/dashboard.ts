/** What the dashboard costs: CPU of the server and of its PostgreSQL by the number of live viewers, and the time to open. */
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { openBrowser } from '../test/dashboard/open-browser.js'
import { startDev } from './harness/start-dev.js'
import { summarise } from './harness/summarise-samples.js'

const SETTLE_MS = 20_000
const MEASURE_MS = 20_000
const VIEWERS = [0, 1, 50, 200]
const OPENINGS = 7
const KEY = 'the-key-of-the-benchmark-of-the-dashboard'

const dev = await startDev({ SAGAPOST_API_KEY: KEY })
try {
  await pause(SETTLE_MS)
  console.log('viewers   node %   postgres %   bytes/s of each')
  for (const viewers of VIEWERS) {
    const streams = await Promise.all(Array.from({ length: viewers }, () => watch(dev.url)))
    await pause(5_000)
    const before = { ...dev.spentS(), bytes: sum(streams) }
    await pause(MEASURE_MS)
    const percent = (spent: number) => ((spent / (MEASURE_MS / 1000)) * 100).toFixed(2).padStart(8)
    const bytes = (sum(streams) - before.bytes) / (MEASURE_MS / 1000) / Math.max(1, viewers)
    const after = dev.spentS()
    const node = percent(after.node - before.node)
    const postgres = percent(after.postgres - before.postgres)
    console.log(`${String(viewers).padStart(7)} ${node} ${postgres}     ${bytes.toFixed(0).padStart(8)}`)
    for (const { stop } of streams) stop()
  }
  await timeOpening(dev.url)
} finally {
  await dev.stop()
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
  const median = (times: number[]) => summarise(times).median.toFixed(0)
  console.log(`to open, median of ${OPENINGS}: sign-in page with an empty cache ${median(cold)} ms,`)
  console.log(`  overview with its first live snapshot, cached ${median(warm)} ms`)
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
