import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import type { SecretBox } from './secret-box.js'

// The newest, by the primary key: after a change of keys the old secrets may be gone.
const selectNewestSecret = `
  SELECT ciphertext FROM sagapost.subscription_secrets WHERE ciphertext IS NOT NULL ORDER BY id DESC LIMIT 1`

/**
 * Throws `master_key_wrong` when the secrets in the database were sealed with another key: no delivery could be signed,
 * and each would end as a dead letter. Under job_worker or subscription_admin.
 */
export async function checkMasterKey(pool: pg.Pool, box: SecretBox): Promise<void> {
  const { rows } = await pool.query<{ ciphertext: Buffer }>(selectNewestSecret)
  const [newest] = rows
  if (newest && !box.hasSealed(newest.ciphertext)) {
    throw new SagapostError(
      'master_key_wrong',
      'The secrets in this database were sealed with another SAGAPOST_MASTER_KEY; start with that one',
    )
  }
}
