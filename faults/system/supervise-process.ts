import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Delay before a process that could not start (a missing database, for example) is restarted. */
const RESTART_MS = 250
const STOP_MS_MAX = 40_000
const STDERR_KEPT = 2_000

export interface ProcessCommand {
  name: string
  /** Of node: a file, its arguments. */
  args: readonly string[]
  nodeOptions?: readonly string[]
  env: Record<string, string>
  /** Where its output and its clock file go. */
  folder: string
}

/** A process that ended without being killed. */
export interface UnexpectedEnd {
  process: string
  exit: number | string
  stderr: string
}

export interface ProcessWatcher {
  onUnexpectedEnd(end: UnexpectedEnd): void
  onKilled?(pid: number): void
  /** Each line of its output. */
  onLine?(line: string): void
}

export interface SupervisedProcess {
  name: string
  pid(): number | undefined
  /** It has said that it serves, and runs. */
  isServing(): boolean
  /** Sends SIGKILL and restarts the process after the delay. Resolves once it has started. */
  kill(awayMs: number): Promise<void>
  pause(): void
  resume(): void
  skewClock(skewMs: number): void
  /** SIGTERM, and no new start. False when it had to be killed or ended with a complaint. */
  stop(): Promise<boolean>
}

const preload = new URL('../children/preload.mjs', import.meta.url).href

/** Keeps one process running as a supervisor does: what it has killed, or could not start, it starts again. */
export function superviseProcess(command: ProcessCommand, watcher: ProcessWatcher): SupervisedProcess {
  const clockFile = `${command.folder}/${command.name}.clock`
  const output = createWriteStream(`${command.folder}/${command.name}.log`, { flags: 'a' })
  let child: ChildProcess
  let serving = false
  let killed = false
  let stopping = false
  let awayMs = 0
  const waiting: (() => void)[] = []

  function start(): void {
    serving = false
    killed = false
    writeFileSync(clockFile, '0')
    child = spawn(process.execPath, ['--import', preload, ...(command.nodeOptions ?? []), ...command.args], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        NO_COLOR: '1',
        ...command.env,
        FAULTS_CLOCK_FILE: clockFile,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let stderr = ''
    let unfinished = ''
    child.stdout?.on('data', (text: Buffer) => {
      if (!serving && text.includes('"msg":"serving"')) serving = true
      output.write(text)
      if (watcher.onLine) passLines(text, watcher.onLine)
    })
    const passLines = (text: Buffer, onLine: (line: string) => void) => {
      const lines = (unfinished + text.toString()).split('\n')
      unfinished = lines.pop() ?? ''
      for (const line of lines) onLine(line)
    }
    child.stderr?.on('data', (text: Buffer) => {
      stderr = (stderr + text.toString()).slice(-STDERR_KEPT)
      output.write(text)
    })
    child.on('exit', (code, signal) => void ended(code ?? signal ?? 'unknown', () => stderr))
    for (const started of waiting.splice(0)) started()
  }

  async function ended(exit: number | string, stderr: () => string): Promise<void> {
    const hadServed = serving
    serving = false
    if (stopping) return
    if (killed) await sleep(awayMs)
    else {
      await sleep(RESTART_MS)
      if (hadServed) watcher.onUnexpectedEnd({ process: command.name, exit, stderr: stderr() })
    }
    if (!stopping) start()
  }

  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name)
  }

  start()
  return {
    name: command.name,
    pid: () => child.pid,
    isServing: () => serving,
    async kill(ms) {
      awayMs = ms
      killed = true
      const again = new Promise<void>((resolve) => waiting.push(resolve))
      signal('SIGKILL')
      if (child.pid !== undefined) watcher.onKilled?.(child.pid)
      await again
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    skewClock(skewMs) {
      writeFileSync(clockFile, String(skewMs))
      if (serving) signal('SIGUSR2')
    },
    async stop() {
      stopping = true
      output.on('error', () => {})
      if (child.exitCode !== null || child.signalCode !== null) return true
      const exit = once(child, 'exit')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      signal('SIGCONT')
      signal('SIGTERM')
      const [code] = await exit
      clearTimeout(timer)
      output.end()
      return code === 0
    },
  }
}
