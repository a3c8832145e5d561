import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SagapostError } from '../errors/index.js'

const bench = new URL('../../bench/main.ts', import.meta.url)

/**
 * The benchmark of the repository (`npm run bench`). The package does not bring it along: what it compares with are
 * dependencies of its own. Ctrl-C reaches it by itself, and it is waited for.
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
