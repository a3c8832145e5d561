/**
 * `npm run schema:dump`: migrates an empty database and writes down what came out: for review, and for
 * `sagapost doctor --schema`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, migrate, startEmbeddedPostgres } from '../src/database/index.js'
import { catalogueFile } from '../src/doctor/schema/release-catalogue.js'
import { formatCatalogue, readCatalogue } from './catalogue.js'
import { describeSchema } from './describe-schema.js'

const folder = await mkdtemp(join(tmpdir(), 'sagapost-schema-'))
const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
try {
  await migrate({ databaseUrl: server.url })
  const client = await connect(server.url)
  await writeFile(new URL('../docs/reference/schema.txt', import.meta.url), await describeSchema(client))
  await writeFile(catalogueFile, formatCatalogue(await readCatalogue(client)))
  await client.end()
} finally {
  await server.stop()
  await rm(folder, { recursive: true })
}
