import { readFileSync } from 'node:fs'
import tls, { type SecureContext } from 'node:tls'

/** Node's own authorities, those of NODE_EXTRA_CA_CERTS, and the given ones. */
export function trustAuthorities(extra: readonly string[]): SecureContext {
  // Without a list, Node uses all of its own; a list replaces them, including NODE_EXTRA_CA_CERTS.
  if (extra.length === 0) return tls.createSecureContext({ minVersion: 'TLSv1.2' })
  return tls.createSecureContext({ minVersion: 'TLSv1.2', ca: [...nodesAuthorities(), ...extra] })
}

function nodesAuthorities(): readonly string[] {
  // From Node 22.15, this is the complete list (including --use-system-ca).
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] }
  if (getCACertificates) return getCACertificates('default')
  const file = process.env['NODE_EXTRA_CA_CERTS']
  return file ? [...tls.rootCertificates, readFileSync(file, 'utf8')] : tls.rootCertificates
}
