import { connect, type Socket } from 'node:net'
import { adminKey } from './api-server.js'

/** Begins to post a batch of events: a request whose body does not come. */
export async function withholdBody(url: string, headers: string, key = adminKey): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(
    `POST /v1/events/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\n${headers}\r\n\r\n`,
  )
  return socket
}
