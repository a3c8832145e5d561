import { hash } from 'node:crypto'

/**
 * The stored form of a key. A plain hash is enough: a key has 256 random bits, so there is nothing to guess that a slow
 * hash would protect, and every request would pay for one.
 */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
