import { Console } from 'node:console'
import type { Environment } from './connect-api.js'

/** The streams, environment and exit code of a command: those of the process, or a test's. */
export interface Terminal {
  readonly env: Environment
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: Output
  readonly stderr: Output
  exitCode?: NodeJS.Process['exitCode']
}

type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number }

/** Prints a message to stderr, apart from the results on stdout. */
export function complain({ stderr }: Terminal, text: string): void {
  // A console ignores a closed pipe.
  new Console(stderr).log(text)
}
