import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { errorCatalogue } from '../../src/errors/index.js'

it('[O1] docs/reference/errors.md lists every code of the catalogue with its title, and no other', async () => {
  const page = await readFile(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z0-9_]+)` \| (.+?) \|/gm)].map(([, code, title]) => [code, title])
  expect(rows).toEqual(Object.entries(errorCatalogue).map(([code, { title }]) => [code, title]))
})
