import type { FaultSystem } from '../system/fault-system.js'
import { untilAccepting } from '../system/start-server.js'
import type { FaultOutcome } from './apply-fault.js'

// A busy one if there is one: of the parts, not of the harness.
const findBackend = `
  SELECT pid FROM pg_stat_activity
  WHERE application_name LIKE 'sagapost %' AND backend_type = 'client backend'
  ORDER BY state = 'active' DESC, state_change DESC LIMIT 1`

/** SIGKILL to one server process: PostgreSQL ends all others and recovers from its WAL by itself. */
export async function killBackend(system: FaultSystem): Promise<FaultOutcome> {
  const direct = system.openDirect()
  try {
    const { rows } = await direct.query<{ pid: number }>(findBackend)
    const [backend] = rows
    if (backend === undefined) return { ran: false, why: 'no part was connected' }
    // Until the postmaster has noticed it goes on accepting: the connection that saw it must be gone first.
    const client = await direct.connect()
    const gone = new Promise<void>((resolve) => client.on('end', resolve))
    const fromMs = Date.now()
    process.kill(backend.pid, 'SIGKILL')
    await gone
    client.release(true)
    system.accepted.push(await untilAccepting(system.server))
    system.crashes.push({ fromMs, toMs: Date.now() })
    return { ran: true }
  } finally {
    await direct.end().catch(() => {})
  }
}
