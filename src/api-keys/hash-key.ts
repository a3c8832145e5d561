import { hash } from 'node:crypto'

/**
 * What is kept of a key. A plain hash is enough: a key has 256 random bits, so there is nothing to guess that a
 * slow hash would protect, and every request would pay for it.
 */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
