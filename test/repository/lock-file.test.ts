import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

interface LockedPackage {
  resolved?: string
  optionalDependencies?: Record<string, string>
}

it('[O1] the lock file is complete for every platform and names no download address', async () => {
  const lock = JSON.parse(await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  const packages = Object.entries(lock.packages as Record<string, LockedPackage>)
  const names = new Set(packages.map(([path]) => path.split('node_modules/').at(-1)))
  const wanted = packages.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}))
  expect(wanted.filter((name) => !names.has(name))).toEqual([])
  const addresses = packages
    .map(([, { resolved = '' }]) => resolved)
    .filter((address) => address.includes('://'))
  expect(addresses).toEqual([])
})
