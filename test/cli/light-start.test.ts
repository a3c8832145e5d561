import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const run = new URL('../../src/cli/run.ts', import.meta.url)

/** Files that are loaded with this one, and packages: types and what is imported later do not count. */
async function loadedWith(file: URL, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(file.href)) return seen
  seen.add(file.href)
  const source = await readFile(file, 'utf8')
  for (const [, what = '', from = ''] of source.matchAll(/^(?:import|export) ([^;]*?) from '([^']+)'/gms)) {
    const isType = what.startsWith('type ') || /^\{(\s*type \w+,?)+\s*\}$/.test(what)
    if (isType) continue
    if (from.startsWith('.')) await loadedWith(new URL(from.replace(/\.js$/, '.ts'), file), seen)
    else seen.add(from)
  }
  return seen
}

it('[O2] a short command loads no driver, no server and no sender, so that it starts quickly', async () => {
  const packages = [...(await loadedWith(run))].filter((name) => !/^(file|node):/.test(name))
  expect(packages.sort()).toEqual(['commander', 'picocolors'])
})
