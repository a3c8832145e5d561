import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { describeClientTypes } from '../../scripts/describe-client-types.js'

const client = new URL('../../src/client/', import.meta.url)

it('[O1] the types of the client are those of the OpenAPI document (npm run client:types writes them)', async () => {
  expect(await describeClientTypes()).toBe(await readFile(new URL('api-types.ts', client), 'utf8'))
})

it('[O1] the client runs in browsers: it imports nothing but its own files, and names nothing of Node', async () => {
  const found: string[] = []
  for (const name of await readdir(client)) {
    const source = await readFile(new URL(name, client), 'utf8')
    for (const [, path = ''] of source.matchAll(/(?:from|import\() ?'([^']+)'/g)) {
      if (!/^\.\/[a-z-]+\.js$/.test(path)) found.push(`${name}: ${path}`)
    }
    for (const [word] of source.matchAll(/\b(process|Buffer|NodeJS|__dirname|require)\b[.(]/g)) {
      found.push(`${name}: ${word}`)
    }
  }
  expect(found).toEqual([])
})

it('[O1] package.json exports it with its types', async () => {
  const name = 'sagapost/client' // by its own name, as a user does; the build has made it
  const built = (await import(name)) as object
  expect(Object.keys(built).sort()).toEqual(['SagapostApiError', 'SagapostConnectionError', 'createClient'])
})
