import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { createWakeups, type Stage, stages } from '../../src/loop/index.js'
import { linkProcesses } from '../../src/runtime/link-processes.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

/** As one process has it: its wake-ups, its link, and what reached it. */
async function startProcess(waitsFor: readonly Stage[]) {
  const wakeups = createWakeups()
  const woken: Stage[] = []
  let losses = 0
  for (const stage of waitsFor) wakeups.onWake(stage, () => woken.push(stage))
  const link = linkProcesses({
    listenUrl: database.url,
    pool: database.as('schema_maintainer'),
    wakeups,
    log: pino({ level: 'silent' }),
    isAway: () => false,
    onLost: () => {
      losses += 1
    },
  })
  await expect.poll(link.isListening).toBe(true)
  woken.length = 0
  return { wakeups, woken, link, losses: () => losses }
}

describe('wake-ups between processes', () => {
  it('[R1] a wake-up without a local listener reaches the process that listens, and no other', async () => {
    const api = await startProcess([])
    const router = await startProcess(['routing'])
    const worker = await startProcess(['claims'])
    api.wakeups.wake('routing')
    await expect.poll(() => router.woken).toEqual(['routing'])
    router.wakeups.wake('claims')
    await expect.poll(() => worker.woken).toEqual(['claims'])
    expect([api.woken, router.woken]).toEqual([[], ['routing']])
    for (const each of [api, router, worker]) await each.link.stop()
  })

  it('[R1] a wake-up with a local listener is not sent', async () => {
    const allInOne = await startProcess(stages)
    const other = await startProcess(stages)
    allInOne.wakeups.wake('routing')
    other.wakeups.wakeHere('claims')
    expect([allInOne.woken, other.woken]).toEqual([['routing'], ['claims']])
    const marker = await startProcess([])
    marker.wakeups.wake('results')
    await expect.poll(() => other.woken).toEqual(['claims', 'results'])
    for (const each of [allInOne, other, marker]) await each.link.stop()
  })

  it('[R1] a process does not receive its own wake-ups', async () => {
    const sender = await startProcess(['claims'])
    const other = await startProcess(['routing'])
    sender.wakeups.wake('routing')
    // A local listener exists now, when the notification comes back.
    sender.wakeups.onWake('routing', () => sender.woken.push('routing'))
    await expect.poll(() => other.woken).toEqual(['routing'])
    // Notifications come in the order of their commits: with this one, the other has been here.
    other.wakeups.wake('claims')
    await expect.poll(() => sender.woken.includes('claims')).toBe(true)
    expect(sender.woken).toEqual(['claims'])
    for (const each of [sender, other]) await each.link.stop()
  })

  it('[R1] an unknown word, of another version for example, is ignored', async () => {
    const worker = await startProcess(['claims'])
    await database.pool.query(
      `SELECT pg_notify('sagapost_wake', 'unheard-of 0'), pg_notify('sagapost_wake', '')`,
    )
    const other = await startProcess([])
    other.wakeups.wake('claims')
    await expect.poll(() => worker.woken).toEqual(['claims'])
    expect(worker.wakeups.hasBacklog()).toBe(false)
    for (const each of [worker, other]) await each.link.stop()
  })

  it('[R1] many at once are sent as few notifications, and none is lost', async () => {
    const api = await startProcess([])
    const router = await startProcess(['routing'])
    for (let n = 0; n < 500; n++) api.wakeups.wake('routing')
    await expect.poll(() => router.woken.length).toBe(2)
    for (const each of [api, router]) await each.link.stop()
  })

  it('[R1] a backlog of workers reaches the processes that make work for them', async () => {
    const worker = await startProcess(['claims'])
    const orchestrator = await startProcess(['first-jobs', 'results'])
    // Again and again, as workers do: their word counts for a moment only.
    await expect
      .poll(() => {
        worker.wakeups.tellBacklog(true)
        return orchestrator.wakeups.hasBacklog()
      })
      .toBe(true)
    for (const each of [worker, orchestrator]) await each.link.stop()
  })

  it('[R1] a lost connection is reopened, and every loop looks for what was missed', async () => {
    const worker = await startProcess(['claims', 'results'])
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'sagapost listen' AND datname = current_database()`,
    )
    await expect.poll(() => worker.woken.toSorted()).toEqual(['claims', 'results'])
    expect([worker.losses(), worker.link.isListening()]).toEqual([1, true])
    await worker.link.stop()
  })
})
