/** A fast shutdown takes a checkpoint; after an immediate one the next start recovers from the WAL. */
const stopLimits = { fastShutdownMs: 10_000, immediateShutdownMs: 10_000 }

export interface RunningServer {
  signal(name: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void
  /** Resolves to true when the server is gone, to false when the limit passes first. */
  gone(limitMs: number): Promise<boolean>
}

/** Stops a server, gently first. Resolves to whether it is gone. */
export async function stopServer(server: RunningServer, limits = stopLimits): Promise<boolean> {
  server.signal('SIGINT')
  if (await server.gone(limits.fastShutdownMs)) return true
  server.signal('SIGQUIT')
  if (await server.gone(limits.immediateShutdownMs)) return true
  server.signal('SIGKILL')
  return server.gone(limits.immediateShutdownMs)
}
