import { isIP } from 'node:net'

export interface ServerCertificate {
  /** PEM: the authority that senders trust (`extraCertificateAuthorities`, NODE_EXTRA_CA_CERTS). Its key is discarded. */
  certificateAuthority: string
  /** PEM: the server's certificate. */
  certificate: string
  /** PEM: the server's private key. */
  privateKey: string
}

const DAY_MS = 86_400_000
const VALID_DAYS = 365

/** Allows for clock skew: a machine whose clock is behind would refuse a certificate valid from this second. */
const CLOCK_SKEW_MS = DAY_MS

/**
 * Creates an authority and a server certificate for receivers on this machine, as HTTPS is required in development too.
 * P-256, because an RSA key pair takes a hundred times as long to generate.
 */
export async function makeCertificate(
  options: { hosts?: readonly string[]; validFrom?: Date; validUntil?: Date } = {},
): Promise<ServerCertificate> {
  // Loaded on demand: most processes create no certificate.
  const { generate } = await import('selfsigned')
  const now = Date.now()
  const { hosts = ['localhost', '127.0.0.1', '::1'] } = options
  const { validFrom = new Date(now - CLOCK_SKEW_MS), validUntil = new Date(now + VALID_DAYS * DAY_MS) } =
    options
  const shared = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const

  const authority = await generate([{ name: 'commonName', value: 'Sagapost development authority' }], {
    ...shared,
    notBeforeDate: new Date(now - CLOCK_SKEW_MS),
    notAfterDate: new Date(now + VALID_DAYS * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  const server = await generate([{ name: 'commonName', value: hosts[0] ?? 'localhost' }], {
    ...shared,
    ca: { key: authority.private, cert: authority.cert },
    notBeforeDate: validFrom,
    notAfterDate: validUntil,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (isIP(host) ? { type: 7, ip: host } : { type: 2, value: host })),
      },
    ],
  })
  return { certificateAuthority: authority.cert, certificate: server.cert, privateKey: server.private }
}
