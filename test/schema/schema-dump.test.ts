import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { describeSchema } from '../../scripts/describe-schema.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

it('[O1, G11] the schema is the one in docs/reference/schema.txt (npm run schema:dump writes it)', async () => {
  const written = await readFile(new URL('../../docs/reference/schema.txt', import.meta.url), 'utf8')
  expect(await describeSchema(database.pool)).toBe(written)
})
