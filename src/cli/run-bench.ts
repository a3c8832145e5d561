import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SagapostError } from '../errors/index.js'

const bench = new URL('../../bench/main.ts', import.meta.url)

/**
 * Runs the repository's benchmark (`npm run bench`). The package does not include it, because the systems it compares
 * with are additional dependencies. Ctrl-C reaches the child process directly; this process waits for it to exit.
 */
export async function runBench(args: readonly string[]): Promise<void> {
  if (!existsSync(bench)) {
    throw new SagapostError(
      'config_invalid',
      'bench is part of the repository, not of the package: clone it and run npm run bench',
    )
  }
  const ignore = () => {}
  process.on('SIGINT', ignore)
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(bench), ...args], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: 'inherit',
  })
  const terminate = () => child.kill('SIGTERM')
  process.on('SIGTERM', terminate)
  const [code] = await once(child, 'exit')
  process.off('SIGINT', ignore).off('SIGTERM', terminate)
  process.exitCode = code ?? 1
}
