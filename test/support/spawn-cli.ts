import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface CliProcess {
  child: ChildProcess
  stdout(): string
  stderr(): string
  /** The exit code, or the signal's name. */
  exit: Promise<number | string>
  /** Waits until the output matches; rejects when the process ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** The same for what it says on its standard error. */
  complained(pattern: RegExp): Promise<RegExpExecArray>
}

/** The command line as a user runs it: the built program in a process of its own, with `input` piped in if given. */
export function spawnCli(
  args: string[],
  env: Record<string, string> = {},
  input?: string | Buffer,
): CliProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const says = async (stream: Readable, said: () => string, pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(said())
      if (match) return match
      const ended = await Promise.race([exit, once(stream, 'data').then(() => undefined)])
      if (ended !== undefined && !pattern.test(said())) {
        throw new Error(`ended with ${ended} before it said ${pattern}:\n${stdout}${stderr}`)
      }
    }
  }
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exit,
    printed: (pattern) => says(child.stdout, () => stdout, pattern),
    complained: (pattern) => says(child.stderr, () => stderr, pattern),
  }
}

export async function runCli(args: string[], env: Record<string, string> = {}, input?: string | Buffer) {
  const cli = spawnCli(args, env, input)
  const code = await cli.exit
  return { code, stdout: cli.stdout(), stderr: cli.stderr() }
}
