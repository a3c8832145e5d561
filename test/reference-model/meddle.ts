import { inTransaction } from '../../src/database/index.js'
import { codeOf } from '../support/refusal.js'
import { Mismatch } from './plan.js'
import { pick, type World } from './world.js'

/** What nobody may do, whatever his rights, by what it is done to. */
const forbidden = {
  'final delivery': 'UPDATE sagapost.webhook_delivery_sagas SET updated_at = sagapost.now() WHERE id = $1',
  'open delivery': `UPDATE sagapost.webhook_delivery_sagas
    SET status = (CASE WHEN status = 'InProgress' THEN 'DeadLettered' ELSE 'Completed' END)::sagapost.delivery_status
    WHERE id = $1`,
  'delivery with an active job': `
    INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt_at)
    SELECT id, event_id, subscription_id, 'infinity' FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
  'finished job': 'UPDATE sagapost.webhook_delivery_jobs SET lease_resets = lease_resets WHERE id = $1',
  'free job': `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE id = $1`,
  'leased job': `UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending', response_status = 500 WHERE id = $1`,
  event: 'UPDATE sagapost.events SET payload = payload WHERE id = $1',
  letter: 'DELETE FROM sagapost.dead_letters WHERE id = $1',
} as const

/** [S5, S9, S11, J12, E2, D2] The owner himself is refused. */
export async function meddle(world: World, which: number): Promise<void> {
  const target = pick(targetsOf(world), which)
  if (!target) return
  const { kind, name, id } = target
  // Rolled back and waited for: the answer to a statement that failed comes before its locks are gone.
  const code = await codeOf(
    inTransaction(world.database.pool, (client) => client.query(forbidden[kind], [id])),
  )
  if (code === 'accepted') throw new Mismatch(`somebody could meddle with ${kind} ${name}`)
}

interface Target {
  kind: keyof typeof forbidden
  name: string
  id: string
}

/** Not what is held: that would be waited for. */
function targetsOf({ model, look }: World): Target[] {
  const targets: Target[] = []
  const add = (kind: Target['kind'], name: string, id: string | undefined) => {
    if (id !== undefined) targets.push({ kind, name, id })
  }
  for (const [name, { status }] of model.deliveries) {
    if (model.locked.has(`delivery ${name}`)) continue
    const isFinal = status === 'Completed' || status === 'DeadLettered'
    add(isFinal ? 'final delivery' : 'open delivery', name, look.deliveries.get(name)?.id)
  }
  for (const [name, { status, delivery }] of model.jobs) {
    if (model.locked.has(`job ${name}`)) continue
    if (status === 'Completed' || status === 'Failed') add('finished job', name, look.jobs.get(name)?.id)
    if (status === 'Pending') add('free job', name, look.jobs.get(name)?.id)
    if (status === 'Leased') add('leased job', name, look.jobs.get(name)?.id)
    const isActive = status === 'Pending' || status === 'Leased'
    if (isActive) add('delivery with an active job', delivery, look.deliveries.get(delivery)?.id)
  }
  for (const name of model.events.keys()) add('event', name, look.eventIds.get(name))
  for (const name of model.letters.keys()) add('letter', name, look.letterIds.get(name))
  return targets
}
