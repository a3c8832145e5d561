import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'

const folder = mkdtempSync(join(tmpdir(), 'sagapost-secrets-'))
afterAll(() => rmSync(folder, { recursive: true }))

const masterKey = Buffer.alloc(32, 7)
const secrets = {
  DATABASE_URL: 'postgres://app:secret@db/app',
  SAGAPOST_LISTEN_URL: 'postgres://app:secret@direct/app',
  SAGAPOST_API_KEY: 'k'.repeat(32),
  SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
}
const names = Object.keys(secrets) as (keyof typeof secrets)[]

function inFile(name: keyof typeof secrets, text: string): Record<string, string> {
  const file = join(folder, name)
  writeFileSync(file, text)
  return { [`${name}_FILE`]: file }
}

function refusalOf(env: Record<string, string>): { code: string; message: string } {
  try {
    readConfig(env)
  } catch (error) {
    return error as { code: string; message: string }
  }
  throw new Error('it was taken')
}

describe('secrets in files', () => {
  it.each(['', '\n', '\r\n'])('[O2] are read like those of the environment, without a trailing %j', (end) => {
    const env = Object.assign({}, ...names.map((name) => inFile(name, secrets[name] + end)))
    expect(readConfig(env)).toMatchObject({
      databaseUrl: secrets.DATABASE_URL,
      listenUrl: secrets.SAGAPOST_LISTEN_URL,
      apiKey: secrets.SAGAPOST_API_KEY,
      masterKey,
    })
  })

  it('[O2] switch prepared statements off when the URL has a login for each role', () => {
    const env = inFile('DATABASE_URL', 'postgres://{role}:x@pooler/app\n')
    expect(readConfig(env).preparedStatements).toBe(false)
  })

  it.each(names)(
    '[O2] %s given twice, or in an empty or missing file, is refused, and never printed',
    (name) => {
      const twice = refusalOf({ ...inFile(name, secrets[name]), [name]: secrets[name] })
      const empty = refusalOf(inFile(name, '\n'))
      const missing = refusalOf({ [`${name}_FILE`]: join(folder, 'missing') })
      expect([twice, empty, missing].map(({ code }) => code)).toEqual(Array(3).fill('config_invalid'))
      expect(twice.message).toBe(`${name} and ${name}_FILE are both set; set one of them`)
      expect(empty.message).toBe(`${name}_FILE: ${join(folder, name)} is empty`)
      expect(missing.message).toBe(`${name}_FILE: ${join(folder, 'missing')} cannot be read (ENOENT)`)
    },
  )
})

describe('the API key', () => {
  it('[O2] of less than 32 characters is refused, in a file too, and not printed', () => {
    const short = 'k'.repeat(31)
    for (const env of [{ SAGAPOST_API_KEY: short }, inFile('SAGAPOST_API_KEY', `${short}\n`)]) {
      const { code, message } = refusalOf(env)
      expect(code).toBe('config_invalid')
      expect(message).toMatch(/^SAGAPOST_API_KEY must have at least 32 characters/)
      expect(message).not.toContain(short)
    }
  })
})
