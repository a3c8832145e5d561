import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SagapostError } from '../../errors/index.js'
import type { Account } from './choose-account.js'
import { completeBinaries } from './complete-binaries.js'
import { cacheRoots, copyBinaries } from './copy-binaries.js'
import { missing } from './locate-binaries.js'
import { cleanEnvironment } from './spawn-guarded.js'

export interface Binaries {
  initdb: string
  postgres: string
  /** For example "18.4". */
  version: string
}

/**
 * Makes the programs runnable by the account: in place if possible, otherwise as a copy in a cache folder, when the
 * account cannot reach the package (below /root, say) or we cannot write to it.
 */
export async function prepareBinaries(
  nativeDir: string,
  account: Account | undefined,
  cacheDir: string | undefined,
): Promise<Binaries> {
  const problems: string[] = []
  const attempt = async (prepare: () => Promise<string>): Promise<Binaries | undefined> => {
    try {
      const native = await prepare()
      const bin = join(native, 'bin')
      const version = await readVersion(join(bin, 'postgres'), account)
      return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), version }
    } catch (error) {
      problems.push(lastLine(error))
      return undefined
    }
  }
  let binaries = await attempt(() => completeBinaries(nativeDir).then(() => nativeDir))
  for (const root of cacheRoots(cacheDir)) binaries ??= await attempt(() => copyBinaries(nativeDir, root))
  if (binaries) return binaries
  throw missing(
    process.platform,
    process.arch,
    `the programs in ${nativeDir} do not run (${[...new Set(problems)].join('; ')})`,
  )
}

/** Runs the server's program once as the account, which proves that it and its libraries load. */
async function readVersion(postgres: string, account: Account | undefined): Promise<string> {
  const options = { ...account, cwd: '/', env: cleanEnvironment }
  const { stdout } = await promisify(execFile)(postgres, ['--version'], options)
  const version = /(\d+\.\d+)/.exec(stdout)?.[1]
  if (version) return version
  throw new SagapostError('embedded_postgres_missing', `${postgres} --version says ${stdout.trim()}`)
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr?.trim() || message).split('\n').at(-1) ?? ''
}
