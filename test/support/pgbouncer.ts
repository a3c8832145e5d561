import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.js'

const START_MS_MAX = 30_000
const POLL_MS = 20

/** Debian puts it where only root's PATH leads. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']

/** Where pgbouncer is installed; undefined where it is not: its tests are not run then. */
export const pgbouncer = folders.map((folder) => join(folder, 'pgbouncer')).find((file) => existsSync(file))

export interface Pooler {
  port: number
  stop(): Promise<void>
}

/** A pgbouncer in transaction mode in front of a server, with these logins under one password. */
export async function startPgbouncer(options: {
  serverPort: number
  database: string
  logins: readonly string[]
  password: string
  clientsMax: number
}): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-pgbouncer-'))
  const port = await freePort()
  const users = join(folder, 'users.txt')
  const settings = join(folder, 'pgbouncer.ini')
  const isRoot = process.getuid?.() === 0
  await chmod(folder, 0o755)
  await writeFile(users, options.logins.map((login) => `"${login}" "${options.password}"\n`).join(''))
  await writeFile(
    settings,
    `[databases]
${options.database} = host=127.0.0.1 port=${options.serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
max_client_conn = ${options.clientsMax}
${isRoot ? 'user = nobody' : ''}
`,
  )
  const child = spawn(pgbouncer as string, [settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGINT')
    await exited
    await rm(folder, { recursive: true })
  }
  for (const endsAt = performance.now() + START_MS_MAX; !(await accepts(port)); await sleep(POLL_MS)) {
    if (child.exitCode === null && performance.now() < endsAt) continue
    await stop()
    throw new Error(`pgbouncer does not run:\n${log}`)
  }
  return { port, stop }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
