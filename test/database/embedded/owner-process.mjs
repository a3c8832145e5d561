// A process that competes for a data directory, one order per line of stdin, one answer per line:
// `take <dir>` says won or lost, `release` gives it back, `churn <dir> <ms>` takes and releases it as often
// as it can and counts how often it was not alone.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const { takeOwnership } = await import(process.argv[2])
let held

async function tryTake(dir) {
  try {
    held = await takeOwnership(dir)
    return true
  } catch (error) {
    if (error.code === 'data_dir_in_use') return false
    throw error
  }
}

async function churn(dir, ms) {
  const end = Date.now() + Number(ms)
  let [taken, shared] = [0, 0]
  while (Date.now() < end) {
    if (!(await tryTake(dir))) continue
    taken += 1
    const file = join(dir, 'alone')
    try {
      writeFileSync(file, '', { flag: 'wx' })
      await new Promise((resolve) => setImmediate(resolve))
      rmSync(file)
    } catch {
      shared += 1
    }
    await held.release()
  }
  return JSON.stringify({ taken, shared })
}

for await (const line of createInterface({ input: process.stdin })) {
  const [order, dir, ms] = line.split(' ')
  if (order === 'take') console.log((await tryTake(dir)) ? 'won' : 'lost')
  if (order === 'churn') console.log(await churn(dir, ms))
  if (order === 'release') {
    await held?.release()
    held = undefined
    console.log('released')
  }
}
