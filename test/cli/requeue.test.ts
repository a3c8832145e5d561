import { describe, expect, it } from 'vitest'
import { describeEnd, drawBar, drawLine, type RequeueStand } from '../../src/cli/describe-requeue.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters } from '../support/dead-letters.js'
import { insertSubscription } from '../support/fixtures.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const database = useDatabase()
const server = useSagapost(database)
const env = () => ({ SAGAPOST_URL: server.url, SAGAPOST_API_KEY: adminKey, USER: 'ann' })
const requeue = (...args: string[]) => runCli(['dead-letters', 'requeue', ...args], env())

/** A receiver that is not there: what is requeued dies again, of another error. */
const insertLetters = async (count: number, options: { active?: boolean } = {}) => {
  const subscriptionId = await insertSubscription(database.pool, { url: 'https://127.0.0.1:1/', ...options })
  await insertDeadLetters(database.pool, { count, subscriptionId, errorCode: 'http_418' })
  return subscriptionId
}

describe('sagapost dead-letters requeue', () => {
  it('[D4] by filter: counts, requeues, and reports the outcome, in a pipe and as JSON', async () => {
    const subscription = await insertLetters(700)
    const filter = ['--subscription', subscription, '--error', 'http_418', '--event-type', 'order.placed']
    expect(await requeue(...filter, '--from', '1h', '--dry-run')).toEqual({
      code: 0,
      stdout: '700 dead letters match; nothing was done\n',
      stderr: '',
    })
    expect(JSON.parse((await requeue(...filter, '--dry-run', '--json')).stdout)).toEqual({ matching: 700 })
    const { code, stdout, stderr } = await requeue(...filter)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^700 dead letters match: saga [0-9a-f-]{36} requeues them\n/)
    expect(stdout).toMatch(/\nCompleted: requeued 700 of 700\n$/)

    const again = await requeue(...filter, '--json')
    const lines = again.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const end = {
      state: 'Completed',
      matching: 0,
      requeued: 0,
      alreadyRequeued: 0,
      refused: 0,
      remaining: 0,
    }
    expect(lines.at(-1)).toMatchObject(end)
    const [, sagaId = ''] = /saga (\S+)/.exec(stdout) ?? []
    expect((await requeue('--follow', sagaId)).stdout).toBe('Completed: requeued 700 of 700\n')
    expect((await runCli(['sagas', 'show', sagaId], env())).stdout).toMatch(/\nProgress\n\{.*"requeued":700/)
  })

  it('[D4, U5] reports what was refused, and why', async () => {
    const subscription = await insertLetters(4)
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [
      subscription,
    ])
    const { stdout } = await requeue('--subscription', subscription)
    expect(stdout).toContain('\nCompleted: requeued 0 of 4; 4 refused (subscription_inactive 4)\n')
  })

  it.each([
    [[], 'specify an id, a filter'],
    [['7', '--error', 'http_500'], 'specify an id, a filter'],
    [['--dry-run'], 'specify an id, a filter'],
    [['7', '--dry-run'], '--dry-run and --detach require a filter'],
    [['--follow', 'x', '--all'], 'specify an id, a filter'],
    [['--all', '--dry-run', '--detach'], 'cannot be used together'],
    [['--from', 'yesterday'], 'Must be a time'],
  ])('[O7] %j is rejected', async (args, message) => {
    const { code, stdout, stderr } = await requeue(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })

  it('[O7] is refused by the server with a code', async () => {
    expect((await requeue('--error', 'HTTP')).stderr).toContain('[query_invalid]')
    expect((await requeue('--all', '--error', 'http_500', '--dry-run')).stderr).toContain('[query_invalid]')
    expect((await requeue('--follow', 'nobody')).stderr).toContain('[saga_not_found]')
  })
})

describe('what a terminal shows', () => {
  const stand: RequeueStand = {
    sagaId: 'x',
    state: 'Running',
    matching: 50_000,
    requeued: 16_000,
    alreadyRequeued: 400,
    refused: 100,
    refusals: { subscription_deleted: 100 },
    remaining: 33_500,
  }

  it('[O6] is a bar with the rate since it was joined, and the time that is left', () => {
    expect(drawBar(stand, { remaining: 41_750, elapsedMs: 2_000 })).toBe(
      '[#######.................]   33 %  16,500 of 50,000  4,125/s  9s left',
    )
    expect(drawBar(stand, { remaining: 33_510, elapsedMs: 1_000 })).toContain('10/s  55m 50s left')
    expect(drawBar(stand, { remaining: 33_501, elapsedMs: 1_000 })).toContain('1/s  9h 18m left')
    expect(drawBar(stand, { remaining: 33_500, elapsedMs: 0 })).toMatch(/50,000$/)
    expect(drawBar({ ...stand, matching: 0, remaining: 0 }, { remaining: 0, elapsedMs: 5 })).toContain(
      '100 %',
    )
    expect(drawLine(stand, { remaining: 33_500, elapsedMs: 0 })).toBe('Running, 16,500 of 50,000')
  })

  it('[O6] ends with every count', () => {
    expect(describeEnd({ ...stand, state: 'Cancelled' })).toBe(
      'Cancelled: requeued 16,000 of 50,000; 400 had already been requeued; ' +
        '100 refused (subscription_deleted 100); 33,500 not processed',
    )
  })
})
