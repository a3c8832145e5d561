import { setTimeout as sleep } from 'node:timers/promises'

const waitMsMax = 60_000

/** Polls until the condition holds. */
export async function waitFor(what: string, condition: () => unknown): Promise<void> {
  const end = Date.now() + waitMsMax
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited ${waitMsMax} ms in vain: ${what}`)
    await sleep(5)
  }
}
