import { Console } from 'node:console'
import type { Environment } from './connect-api.js'

/** What a command reads, writes and ends with: the process itself, or streams that a test passes. */
export interface Terminal {
  readonly env: Environment
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: Output
  readonly stderr: Output
  exitCode?: NodeJS.Process['exitCode']
}

type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number }

/** A line for people, beside the results on the standard output. */
export function complain({ stderr }: Terminal, text: string): void {
  // A console does not mind that nobody reads it.
  new Console(stderr).log(text)
}
