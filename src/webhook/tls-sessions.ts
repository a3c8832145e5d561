const SESSIONS_MAX = 1_000
/** Limit per session. With its certificates a session takes some kilobytes, but the receiver's part may take 64. */
const SESSION_BYTES_MAX = 16 * 1024

/**
 * The last TLS session with each receiver: resuming it saves the certificate and its check, most of a handshake's work
 * on both sides. A session is valid only for the name and port whose certificate was checked.
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
      // The least recently updated session is evicted.
      sessions.delete(receiver)
      if (session.length > SESSION_BYTES_MAX) return
      sessions.set(receiver, session)
      const [oldest] = sessions.size > sessionsMax ? sessions.keys() : []
      if (oldest !== undefined) sessions.delete(oldest)
    },
    forget: (receiver) => void sessions.delete(receiver),
  }
}
