import { compare } from './perform-call.js'
import { get } from './plan.js'
import { readState } from './read-state.js'
import { enqueue } from './take-rows.js'
import { pick, type World } from './world.js'

const queueEvent = `
  INSERT INTO sagapost.event_routing_queue (event_type, event_ids)
  SELECT event_type, ARRAY[id] FROM sagapost.events WHERE id = $1`

const queueResult = `
  INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
  SELECT ARRAY[id], ARRAY[event_id], event_id, event_id FROM sagapost.webhook_delivery_jobs WHERE id = $1`

/**
 * [S3, S4, R3] Somebody queues an event, or a job, that is or was there already, or has no result yet: whoever takes it
 * must not route or count it twice.
 */
export async function queueAgain(world: World, which: number): Promise<void> {
  const { model, look, database } = world
  const isEvent = which % 3 === 0
  const name = pick([...(isEvent ? model.events : model.jobs).keys()], Math.floor(which / 3))
  // One at a time that can do harm: of two, parts that work at once could wait for each other.
  if (name === undefined || model.unrouted.some(({ byHand }) => byHand)) return
  if (model.unapplied.some(({ byHand, entries: [job] }) => byHand && !isCounted(world, job as string))) return
  if (isEvent) await database.pool.query(queueEvent, [look.eventIds.get(name)])
  else await database.pool.query(queueResult, [look.jobs.get(name)?.id])
  world.look = await readState(database.pool, world.origin)
  const type = isEvent ? get(model.events, name).type : null
  const row = { type, entries: [name], sinceMs: model.nowMs, byHand: true as const }
  enqueue(model, world.look, isEvent ? 'unrouted' : 'unapplied', row)
  compare(model, world.look)
}

function isCounted({ model }: World, name: string): boolean {
  const { attempt, delivery } = get(model.jobs, name)
  return attempt <= get(model.deliveries, delivery).attempts
}
