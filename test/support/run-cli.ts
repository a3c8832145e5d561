import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../../src/cli/run.js'

/** One command in this process, with `input` as its standard input: what it prints, and its exit code. */
export async function runCli(
  args: string[],
  env: Record<string, string> = {},
  input: string | Buffer = '',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const printed = Promise.all([text(stdout), text(stderr)])
  const code = await run(args, { env, stdin: Readable.from([Buffer.from(input)]), stdout, stderr })
  stdout.end()
  stderr.end()
  const [out, complaints] = await printed
  return { code, stdout: out, stderr: complaints }
}
