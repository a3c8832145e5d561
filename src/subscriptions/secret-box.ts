import { invalidMasterKey, MASTER_KEY_BYTES } from '../config/index.js'
import { SagapostError } from '../errors/index.js'
import { createSealer, type SealFault } from '../sealer.js'

/** The row that a ciphertext belongs to. The secret's own id is not known before its insert. */
interface SecretOwner {
  subscriptionId: string
  scheme: string
}

/** Signing secrets at rest: sealed under the master key, and bound to their owner. */
export interface SecretBox {
  seal(secret: Buffer, owner: SecretOwner): Buffer
  /** Throws `subscription_secret_invalid` for another master key, another owner, or damaged data. */
  open(sealed: Buffer, owner: SecretOwner): Buffer
  /** Whether the secret was sealed with this master key, judged by its key id. */
  hasSealed(sealed: Buffer): boolean
}

const reasons: Record<SealFault, (sealed: Buffer) => string> = {
  cut: () => 'it is damaged',
  unknownFormat: ([format]) => `its format ${format} is unknown`,
  otherKey: () => 'it was sealed with another SAGAPOST_MASTER_KEY',
  mismatch: () => 'it is damaged or belongs to another subscription',
}

export function createSecretBox(masterKey: Buffer): SecretBox {
  if (masterKey.length !== MASTER_KEY_BYTES) throw invalidMasterKey()
  const sealer = createSealer(masterKey, 'sagapost master key id')
  return {
    hasSealed: sealer.hasSealed,
    seal: (secret, owner) => sealer.seal(secret, placeOf(owner)),
    open(sealed, owner) {
      const opened = sealer.open(sealed, placeOf(owner))
      if ('plain' in opened) return opened.plain
      throw new SagapostError(
        'subscription_secret_invalid',
        `A signing secret of subscription ${owner.subscriptionId} cannot be opened: ${reasons[opened.fault](sealed)}`,
        { cause: opened.cause },
      )
    },
  }
}

function placeOf({ subscriptionId, scheme }: SecretOwner): string {
  return `subscription signing secret\0${subscriptionId}\0${scheme}`
}
