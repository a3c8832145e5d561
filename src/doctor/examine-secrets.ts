import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import { formFaultOf } from '../sealer.js'
import {
  checkMasterKey,
  createSecretBox,
  readSigningSecrets,
  type SecretBox,
} from '../subscriptions/index.js'
import { attempt } from './explain-failure.js'
import { type Finding, finding, fine } from './finding.js'

const PERMISSION_DENIED = '42501'
/** The newest active subscriptions are looked at. */
const SUBSCRIPTIONS_MAX = 10_000
const NAMED_MAX = 5

// By subscriptions_pkey, from its end.
const selectActive = `
  SELECT id FROM sagapost.subscriptions WHERE active ORDER BY id DESC LIMIT $1`

/** Whether deliveries can be signed. Under job_worker; without a master key, only what shows from outside. */
export async function examineSecrets(pool: pg.Pool, masterKey: Buffer | undefined): Promise<Finding[]> {
  try {
    await pool.query('SELECT')
  } catch (error) {
    if ((error as { code?: string }).code !== PERMISSION_DENIED) throw error
    return [fine('secrets', 'not checked: the login cannot assume job_worker')]
  }
  return [...(await attempt('secrets', () => openSecrets(pool, masterKey)))]
}

async function openSecrets(pool: pg.Pool, masterKey: Buffer | undefined): Promise<Finding[]> {
  const box = masterKey ? createSecretBox(masterKey) : formBox
  try {
    await checkMasterKey(pool, box)
  } catch (error) {
    if (!(error instanceof SagapostError)) throw error
    return [finding('secrets', 'master_key_wrong', error.message)]
  }
  const { rows } = await pool.query<{ id: string }>(selectActive, [SUBSCRIPTIONS_MAX])
  const ids = rows.map(({ id }) => id)
  const secrets = await readSigningSecrets(pool, box, ids)
  const missing = ids.filter((id) => !secrets.has(id))
  const damaged = [...secrets.values()].flatMap((found) => (found.readable ? [] : [found.error.message]))
  const found = [
    ...(damaged.length > 0 ? [finding('secrets', 'secret_damaged', nameSome(damaged))] : []),
    ...(missing.length > 0
      ? [
          finding(
            'secrets',
            'secret_missing',
            `active without a secret: ${nameSome(missing.map((id) => `subscription ${id}`))}`,
          ),
        ]
      : []),
  ]
  if (found.length > 0) return found
  return [
    fine(
      'secrets',
      masterKey
        ? `the secrets of all active subscriptions (${ids.length}) can be opened`
        : `all active subscriptions (${ids.length}) have one; set SAGAPOST_MASTER_KEY to test that they can be opened`,
    ),
  ]
}

function nameSome(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : ''
  return names.slice(0, NAMED_MAX).join(', ') + more
}

/** Sees what is wrong without the key. */
const formBox: SecretBox = {
  hasSealed: () => true,
  seal: () => Buffer.alloc(0),
  open(sealed, { subscriptionId }) {
    if (formFaultOf(sealed) === undefined) return sealed
    throw new SagapostError(
      'subscription_secret_invalid',
      `A signing secret of subscription ${subscriptionId} cannot be opened: it is damaged`,
    )
  },
}
