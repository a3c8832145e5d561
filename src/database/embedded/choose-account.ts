import { readFile, stat } from 'node:fs/promises'
import { SagapostError } from '../../errors/index.js'

/** The user that runs initdb and the server, when it differs from ours. */
export interface Account {
  uid: number
  gid: number
}

const accountNames = ['postgres', 'nobody']

/**
 * PostgreSQL refuses to run as root. As root we use the account that owns the cluster, or one from /etc/passwd, because
 * initdb requires an entry there. Any other user runs it as itself.
 */
export async function chooseAccount(clusterDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  if (process.platform !== 'linux') {
    // Without /proc/self/fd, another user could not reach a data directory below a private folder.
    throw new SagapostError(
      'embedded_postgres_failed',
      `PostgreSQL does not run as root on ${process.platform}; start Sagapost as an ordinary user or set DATABASE_URL`,
    )
  }
  const owner = await stat(clusterDir).catch(() => undefined)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const entries = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of accountNames) {
    const entry = entries.find(([user]) => user === name)
    if (entry) return { uid: Number(entry[2]), gid: Number(entry[3]) }
  }
  throw new SagapostError(
    'embedded_postgres_failed',
    `PostgreSQL does not run as root and /etc/passwd has no user ${accountNames.join(' or ')} to run it as; start Sagapost as an ordinary user or set DATABASE_URL`,
  )
}
