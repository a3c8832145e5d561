import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import * as receiver from '../../src/receiver/index.js'

const built = new URL('../../dist/receiver/', import.meta.url)

it('[O1] the built kit imports itself and node:crypto, and nothing else', async () => {
  const files = (await readdir(built)).filter((file) => file.endsWith('.js'))
  const imported = new Set<string>()
  for (const file of files) {
    const text = await readFile(new URL(file, built), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport\(?)\s*['"]([^'"]+)['"]/g))
      imported.add(name)
  }
  expect(files).toContain('index.js')
  expect([...imported].filter((name) => !name.startsWith('./'))).toEqual(['node:crypto'])
  expect([...imported].every((name) => !name.includes('..'))).toBe(true)
})

it('[O1] what package.json exports is there, with its types', async () => {
  const root = new URL('../../', import.meta.url)
  const { exports } = JSON.parse(await readFile(new URL('package.json', root), 'utf8'))
  const { types, default: main } = exports['./receiver']
  expect(await readFile(new URL(types, root), 'utf8')).toContain('export')
  expect(Object.keys(await import(new URL(main, root).href)).sort()).toEqual(Object.keys(receiver).sort())
})
