import { checkInvariants, compareTerminals, snapshotTerminals } from '../../src/doctor/index.js'
import { checkAgainstReceiver } from '../../test/support/check-against-receiver.js'
import { countDeliveries } from '../../test/support/count-deliveries.js'
import type { LoadTally } from '../load/load-tally.js'
import { unexcusedAnswers } from '../load/load-tally.js'
import { ROLLED_BACK } from '../load/publish-by-sql.js'
import type { FaultSystem } from '../system/fault-system.js'
import { checkSagas } from './check-sagas.js'
import { claimsTakenBack, countDuplicates, type DuplicateCount, keyOf } from './count-duplicates.js'
import { measureRecovery } from './measure-recovery.js'

export type Terminals = Awaited<ReturnType<typeof snapshotTerminals>>

export interface Finding {
  /** The invariant's name, or what the harness itself saw. */
  name: string
  detail: string
}

/** What has come together since the system was opened: a schedule is the difference between two of them. */
export interface Totals extends DuplicateCount {
  acknowledged: number
  completed: number
  deadLettered: number
  /** Deliveries that a requeue has made. */
  requeued: number
}

export interface ScheduleCheck {
  findings: Finding[]
  totals: Totals
  terminals: Terminals
  /** For each time that PostgreSQL took connections again; null when nothing was left to deliver. */
  recoveryMs: (number | null)[]
}

const rolledBackKeys = `SELECT key FROM sagapost.event_keys WHERE starts_with(key, '${ROLLED_BACK}') LIMIT 5`

const countRequeued = `
  SELECT count(*)::int AS requeued FROM sagapost.webhook_delivery_sagas WHERE requeued_from IS NOT NULL`

/** Everything that must hold when all has come to its end. */
export async function checkSchedule(
  system: FaultSystem,
  tally: LoadTally,
  before: Terminals | undefined,
): Promise<ScheduleCheck> {
  const readOnly = system.openDirect('saga_readonly_role')
  const owner = system.openDirect()
  try {
    const { published, log, routes } = system
    // The checks read whole tables, which have grown since autovacuum last looked at them.
    await owner.query('ANALYZE')
    const violations = [
      ...(await checkInvariants(readOnly, { settled: true, routes })),
      ...(await checkAgainstReceiver(readOnly, {
        published,
        log,
        takenBack: (eventId, subscriptionId, attempt) =>
          claimsTakenBack(system, keyOf({ eventId, subscriptionId, attempt })),
      })),
    ]
    const terminals = await snapshotTerminals(readOnly)
    if (before) violations.push(...compareTerminals(before, terminals))
    const findings: Finding[] = violations.map(({ invariant, detail }) => ({ name: invariant, detail }))
    const note = (name: string, details: readonly string[]) => {
      if (details.length > 0) findings.push({ name, detail: details.slice(0, 5).join('; ') })
    }
    note('api_says_503_when_it_cannot_know', unexcusedAnswers(tally))
    note('publishers_agree', tally.wrong)
    note(
      'only_the_killed_end',
      system.unexpectedEnds.map(({ process, exit, stderr }) => `${process} ended with ${exit}: ${stderr}`),
    )
    const { rows } = await owner.query<{ key: string }>(rolledBackKeys)
    note(
      'rolled_back_is_not_stored',
      rows.map(({ key }) => key),
    )
    note('sagas_did_their_work_once', await checkSagas(owner, tally))
    const recoveryMs: (number | null)[] = []
    for (const atMs of system.accepted) recoveryMs.push(await measureRecovery(owner, atMs))
    const { completed, deadLettered } = await countDeliveries(readOnly)
    const { rows: requeues } = await owner.query<{ requeued: number }>(countRequeued)
    const totals: Totals = {
      acknowledged: published.size,
      completed,
      deadLettered,
      requeued: requeues[0]?.requeued ?? 0,
      ...(await countDuplicates(owner, system)),
    }
    return { findings, totals, terminals, recoveryMs }
  } finally {
    await Promise.all([readOnly.end(), owner.end()])
  }
}
