const SESSIONS_MAX = 1_000
/** With its certificates a session has some kilobytes; the receiver's own part of it may have 64. */
const SESSION_BYTES_MAX = 16 * 1024

/**
 * The last TLS session with each receiver: whoever resumes it is spared the certificate and its check, which is most
 * of a handshake's work on both sides. A session stands for a certificate that was checked for that name and port.
 */
export interface TlsSessions {
  of(receiver: string): Buffer | undefined
  keep(receiver: string, session: Buffer): void
  forget(receiver: string): void
}

export function createTlsSessions(sessionsMax = SESSIONS_MAX): TlsSessions {
  const sessions = new Map<string, Buffer>()
  return {
    of: (receiver) => sessions.get(receiver),
    keep(receiver, session) {
      // The one that has gone without news for the longest gives way.
      sessions.delete(receiver)
      if (session.length > SESSION_BYTES_MAX) return
      sessions.set(receiver, session)
      const [oldest] = sessions.size > sessionsMax ? sessions.keys() : []
      if (oldest !== undefined) sessions.delete(oldest)
    },
    forget: (receiver) => void sessions.delete(receiver),
  }
}
