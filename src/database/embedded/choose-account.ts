import { readFile, stat } from 'node:fs/promises'
import { SagapostError } from '../../errors/index.js'

/** The user that initdb and the server run as, when it is not the one we run as ourselves. */
export interface Account {
  uid: number
  gid: number
}

const accountNames = ['postgres', 'nobody']

/**
 * PostgreSQL refuses to run as root. As root we give it the account that already owns the cluster, or one
 * from /etc/passwd: initdb wants its user to have an entry there. Anybody else runs it as themselves.
 */
export async function chooseAccount(clusterDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  if (process.platform !== 'linux') {
    // Without /proc/self/fd another user could not reach a data directory below a private folder.
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
