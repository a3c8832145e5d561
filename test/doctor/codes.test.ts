import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { findingCatalogue } from '../../src/doctor/finding.js'

it('[O6] docs/operating/doctor.md lists every code with its severity, meaning and remedy, and no other', async () => {
  const page = await readFile(new URL('../../docs/operating/doctor.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z0-9_]+)` \| (\w+) \| (.+) \| (.+) \|$/gm)].map((row) =>
    row.slice(1),
  )
  expect(rows).toEqual(
    Object.entries(findingCatalogue).map(([code, { severity, means, remedy }]) => [
      code,
      severity,
      means,
      remedy,
    ]),
  )
})
