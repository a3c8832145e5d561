import type pg from 'pg'
import type { Scope } from './scope.js'

/** Minimum interval between look-ups of unknown keys, however many invalid keys arrive. */
const QUESTIONS_EVERY_MS = 50
const KEYS_PER_QUESTION_MAX = 500

/** By uniq_api_key_hash, once for each hash. */
const selectKeys = `
  SELECT id, scope, key_hash FROM sagapost.api_keys WHERE key_hash = ANY ($1::bytea[]) AND revoked_at IS NULL`

export interface FoundKey {
  id: string
  scope: Scope
  key_hash: Buffer
}

/** The rows of those keys that exist and were not revoked. */
export async function findKeys(pool: pg.Pool, hashes: readonly Buffer[]): Promise<FoundKey[]> {
  const { rows } = await pool.query<FoundKey>(selectKeys, [hashes])
  return rows
}

interface Waiting {
  hash: Buffer
  resolve: (found: FoundKey | undefined) => void
  reject: (error: unknown) => void
}

/**
 * Looks up keys that this process does not know yet. A single key is looked up at once; keys that arrive meanwhile
 * share the next look-up. A flood of invalid keys therefore costs a bounded number of statements, and a valid key
 * behind it waits for one look-up but is never refused.
 */
export function gatherQuestions(pool: pg.Pool): (hash: Buffer) => Promise<FoundKey | undefined> {
  const waiting: Waiting[] = []
  let isAsking = false

  const askInTurns = async () => {
    isAsking = true
    while (waiting.length > 0) {
      const pause = new Promise((resolve) => setTimeout(resolve, QUESTIONS_EVERY_MS).unref())
      await ask(pool, waiting.splice(0, KEYS_PER_QUESTION_MAX))
      await pause
    }
    isAsking = false
  }

  return (hash) =>
    new Promise((resolve, reject) => {
      waiting.push({ hash, resolve, reject })
      if (!isAsking) void askInTurns()
    })
}

async function ask(pool: pg.Pool, batch: readonly Waiting[]): Promise<void> {
  try {
    const found = await findKeys(
      pool,
      batch.map(({ hash }) => hash),
    )
    const byHash = new Map(found.map((row) => [row.key_hash.toString('base64'), row]))
    for (const { hash, resolve } of batch) resolve(byHash.get(hash.toString('base64')))
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
