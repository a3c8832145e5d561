import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Call, Commands } from './talk-to-parent.js'

/** A child that does not stop when it is asked to is ended. */
const STOP_MS_MAX = 30_000

export interface Child<Known extends Commands> {
  pid: number
  call<Name extends keyof Known & string>(
    name: Name,
    ...args: Parameters<Known[Name]>
  ): Promise<Awaited<ReturnType<Known[Name]>>>
  /** Asks it to stop, and waits until it has. May be called again. */
  stop(): Promise<void>
}

/** Runs a file of `bench/children` in a process of its own, so that its CPU and memory are its own. */
export function startChild<Known extends Commands>(
  file: string,
  { nodeOptions = [] }: { nodeOptions?: readonly string[] } = {},
): Child<Known> {
  const path = fileURLToPath(new URL(`../children/${file}`, import.meta.url))
  const child = fork(path, { execArgv: ['--import', import.meta.resolve('tsx'), ...nodeOptions] })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let calls = 0
  child.on('message', (answer: Answer) => {
    const call = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('error' in answer) call?.reject(new Error(`${file}: ${answer.error}`))
    else call?.resolve(answer.result)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended (${signal ?? code})`))
    waiting.clear()
  })

  const call = (name: string, args: unknown[]) =>
    new Promise((resolve, reject) => {
      if (!child.connected) return reject(new Error(`${file} has ended`))
      const id = ++calls
      waiting.set(id, { resolve, reject })
      child.send({ id, name, args } satisfies Call)
    })
  let stopping: Promise<void> | undefined
  return {
    pid: child.pid as number,
    call: (name, ...args) => call(name, args) as never,
    stop() {
      stopping ??= endChild(child, () => void call('stop', []).catch(() => {}))
      return stopping
    },
  }
}

/** Waits for the end of a process that `ask` has asked to end. */
export async function endChild(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  ask()
  await ended
  clearTimeout(timer)
}
