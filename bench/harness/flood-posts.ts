import { connect, type Socket } from 'node:net'

/** A connection that is silent for this long has failed; it is not a slow answer. */
const SILENCE_MS_MAX = 30_000
/** Receipts of a batch of 100 have some 10 KB. */
const READ_BYTES = 64 * 1024
const HEAD_END = '\r\n\r\n'
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)\r\n/i

export interface Flood {
  url: string
  headers: Record<string, string>
  posts: number
  connections: number
  bodyOf(index: number): string
  isAccepted(status: number, answer: string): boolean
  silenceMsMax?: number
}

/**
 * Posts over so many connections that are kept open, one request at a time on each. On plain sockets, since it runs on
 * the cores that the measured need: undici's leanest interface takes more of them. Only for servers that answer with a
 * Content-Length. Rejects with the first post that is not accepted, or whose connection fails.
 */
export async function floodPosts(flood: Flood): Promise<void> {
  const sockets: Socket[] = []
  let next = 0
  const take = () => (next < flood.posts ? next++ : undefined)
  try {
    const lanes = Math.min(flood.connections, flood.posts)
    await Promise.all(Array.from({ length: lanes }, () => postInTurn(flood, take, sockets)))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/** One connection: the next post as soon as the last one is answered, until there are none. */
function postInTurn(
  { url, headers, bodyOf, isAccepted, silenceMsMax = SILENCE_MS_MAX }: Flood,
  take: () => number | undefined,
  sockets: Socket[],
): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url)
  const fields = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${pathname} HTTP/1.1\r\n${fields.join('')}content-length: `

  return new Promise((resolve, reject) => {
    let received = ''
    const postNext = () => {
      const index = take()
      if (index === undefined) return resolve()
      const body = bodyOf(index)
      // In one write, or the head would be a packet of its own.
      socket.write(`${head}${Buffer.byteLength(body)}${HEAD_END}${body}`)
    }
    const read = (bytes: number, buffer: Uint8Array) => {
      received += (buffer as Buffer).toString('latin1', 0, bytes)
      const answer = readAnswer(received)
      if (answer === undefined) return true
      if (answer instanceof Error) reject(answer)
      else if (!isAccepted(answer.status, answer.body)) {
        reject(new Error(`answered with ${answer.status}: ${answer.body.slice(0, 500)}`))
      } else {
        received = ''
        postNext()
      }
      return true
    }
    // By `onread` there is one buffer for all answers, and no stream between the socket and us.
    const socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback: read },
    })
    sockets.push(socket)
    socket.setTimeout(silenceMsMax, () => socket.destroy(new Error(`no answer for ${silenceMsMax} ms`)))
    socket.once('connect', postNext)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection before it had answered')))
  })
}

/** The status and the body once they have come whole; undefined before. */
export function readAnswer(received: string): { status: number; body: string } | Error | undefined {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const length = CONTENT_LENGTH.exec(received.slice(0, headEnd + 2))?.[1]
  if (length === undefined) return new Error(`an answer without a Content-Length: ${received.slice(0, 500)}`)
  const start = headEnd + HEAD_END.length
  if (received.length < start + Number(length)) return undefined
  return { status: Number(received.slice(9, 12)), body: received.slice(start) }
}
