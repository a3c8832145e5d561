import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { EmbeddedPostgresOptions } from '../../../src/database/embedded/start-embedded-postgres.js'

const dist = new URL('../../../dist/database/embedded/', import.meta.url)
const ownerScript = fileURLToPath(new URL('./owner-process.mjs', import.meta.url))
export const serverScript = fileURLToPath(new URL('./server-process.mjs', import.meta.url))

export interface LineProcess {
  child: ChildProcess
  say(line: string): void
  nextLine(): Promise<string>
  ended: Promise<unknown>
}

/** Runs one of the scripts beside this file with Node; it is killed when the test ends. */
export function spawnScript(script: string, args: string[], options: SpawnOptions = {}): LineProcess {
  const child = spawn(process.execPath, [script, ...args], { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    say: (line) => void child.stdin?.write(`${line}\n`),
    nextLine: async () => (await lines.next()).value ?? '',
    ended,
  }
}

export interface ServerProcess extends LineProcess {
  answer: { url: string; pid: number; version: string; code: string; message: string }
}

export function spawnOwnerProcess(): LineProcess {
  return spawnScript(ownerScript, [new URL('take-ownership.js', dist).href])
}

/** A process that has begun to start a server. */
export function spawnServerProcess(
  options: EmbeddedPostgresOptions,
  spawnOptions?: SpawnOptions,
): LineProcess {
  const module = new URL('index.js', dist).href
  return spawnScript(serverScript, [module, JSON.stringify(options)], spawnOptions)
}

/** A process that has started a server, or failed to. */
export async function startServerProcess(
  options: EmbeddedPostgresOptions,
  spawnOptions?: SpawnOptions,
): Promise<ServerProcess> {
  const started = spawnServerProcess(options, spawnOptions)
  return { ...started, answer: JSON.parse(await started.nextLine()) }
}
