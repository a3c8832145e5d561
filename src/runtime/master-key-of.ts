import type { Config } from '../config/index.js'
import { SagapostError } from '../errors/index.js'

/** Required only by the parts that seal or open secrets. */
export function masterKeyOf({ masterKey }: Pick<Config, 'masterKey'>): Buffer {
  if (masterKey) return masterKey
  throw new SagapostError(
    'config_invalid',
    'SAGAPOST_MASTER_KEY is missing; the parts api and worker need it',
  )
}
