import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'

/** What the server says of a name; `silent`: nothing at all, as one that cannot be reached. */
export type NameAnswer =
  | { addresses: readonly string[]; ttlS?: number; silentFor?: 4 | 6 }
  | 'silent'
  | 'fails'
  | 'refuses'

export interface NameServer {
  /** For `setServers`: `127.0.0.1:<port>` */
  address: string
  /** May be changed at any time; a name that is not here does not exist. */
  names: Map<string, NameAnswer>
  /** Each question for IPv4 addresses, in its order: `hooks.test`. Those for IPv6 come with them. */
  questions: string[]
  stop(): Promise<void>
}

const A = 1
const AAAA = 28
const NO_ERROR = 0
const SERVER_FAILURE = 2
const NAME_ERROR = 3
const REFUSED = 5
const HEADER_BYTES = 12

/** A real DNS server on loopback, by UDP. */
export async function startNameServer(names: Record<string, NameAnswer> = {}): Promise<NameServer> {
  const socket = createSocket('udp4')
  const known = new Map(Object.entries(names))
  const questions: string[] = []
  socket.on('message', (message, from) => {
    const { name, type, bytes } = readQuestion(message)
    if (type === A) questions.push(name)
    const answer = known.get(name)
    if (answer === 'silent') return
    const reply = (code: number, records: Buffer[] = []) => {
      const header = Buffer.alloc(HEADER_BYTES)
      message.copy(header, 0, 0, 2)
      // A response to a question that asked for recursion, which this server has.
      header.writeUInt16BE(0x8180 | code, 2)
      header.writeUInt16BE(1, 4)
      header.writeUInt16BE(records.length, 6)
      socket.send(Buffer.concat([header, bytes, ...records]), from.port, from.address)
    }
    if (answer === undefined) return reply(NAME_ERROR)
    if (answer === 'fails') return reply(SERVER_FAILURE)
    if (answer === 'refuses') return reply(REFUSED)
    if (answer.silentFor === (type === A ? 4 : 6)) return
    const ofType = answer.addresses.filter((address) => isIP(address) === (type === A ? 4 : 6))
    reply(
      NO_ERROR,
      ofType.map((address) => record(type, address, answer.ttlS ?? 60)),
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    names: known,
    questions,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

/** The one question of a message: labels with their lengths, type, class. */
function readQuestion(message: Buffer): { name: string; type: number; bytes: Buffer } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const end = at + 5
  const type = message.readUInt16BE(at + 1)
  return { name: labels.join('.').toLowerCase(), type, bytes: message.subarray(HEADER_BYTES, end) }
}

function record(type: number, address: string, ttlS: number): Buffer {
  const data = type === AAAA ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
  const fixed = Buffer.alloc(HEADER_BYTES)
  // The name is the question's, by its place.
  fixed.writeUInt16BE(0xc000 | HEADER_BYTES, 0)
  fixed.writeUInt16BE(type, 2)
  fixed.writeUInt16BE(1, 4)
  fixed.writeUInt32BE(ttlS, 6)
  fixed.writeUInt16BE(data.length, 10)
  return Buffer.concat([fixed, data])
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array(missing).fill('0'), ...groups(tail)]
  const bytes = Buffer.alloc(16)
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2)
  return bytes
}
