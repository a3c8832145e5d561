import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that systems give out by themselves: nobody gets it between our look and its use. fetch refuses 10080. */
const LOWEST = 11_000
const HIGHEST = 30_000
const TAKEN_MAX = 100

const given = new Set<number>()

/** A port for a program that has to be told one. */
export async function freePort(): Promise<number> {
  for (let taken = 0; taken < TAKEN_MAX; taken++) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    if (given.has(port)) continue
    given.add(port)
    return port
  }
  throw new Error(`${TAKEN_MAX} ports in a row are taken`)
}
