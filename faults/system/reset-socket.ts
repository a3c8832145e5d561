import type { Socket } from 'node:net'

/**
 * A reset, not a goodbye; unless the goodbye is on its way: libuv does not reset a socket that is shutting down, the
 * request to shut it down never comes to an end, and Node.js waits for it for ever when the process ends.
 */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}
