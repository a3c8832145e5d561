import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, MarkMoment } from '../schedule/fault.js'
import { type MarkName, marks } from '../schedule/marks.js'
import type { FaultSystem } from '../system/fault-system.js'
import type { Behaviour, Link } from '../system/open-link.js'
import type { SupervisedProcess } from '../system/supervise-process.js'
import { crashPostgres } from './crash-postgres.js'
import { exhaustConnections } from './exhaust-connections.js'
import { fillDisk } from './fill-disk.js'
import { holdTransaction } from './hold-transaction.js'
import { killBackend } from './kill-backend.js'
import { promoteStandby } from './promote-standby.js'

/** What could not be done says why; it never counts as passed. */
export type FaultOutcome = { ran: true } | { ran: false; why: string }

const ran: FaultOutcome = { ran: true }

/** A statement that never comes within this time is not waited for. */
const MARK_MS_MAX = 8_000

/** Does it, for as long as it lasts, and undoes it. Resolves when it is over. */
export async function applyFault(system: FaultSystem, fault: Fault): Promise<FaultOutcome> {
  switch (fault.kind) {
    case 'kill':
      await processOf(system, fault.target).kill(fault.lengthMs)
      return ran
    case 'kill-at-mark':
    case 'cut-at-mark':
      return applyAtMark(system, fault)
    case 'pause': {
      const process = processOf(system, fault.target)
      process.pause()
      await sleep(fault.lengthMs)
      process.resume()
      return ran
    }
    case 'skew-clock': {
      const process = processOf(system, fault.target)
      process.skewClock(fault.skewMs)
      await sleep(fault.lengthMs)
      process.skewClock(0)
      return ran
    }
    case 'cut':
      linkOf(system, fault.target).cut()
      return ran
    case 'delay':
      return disturb(system, fault, { kind: 'delay', delayMs: fault.delayMs })
    case 'drip':
      return disturb(system, fault, { kind: 'drip' })
    case 'black-hole':
      return disturb(system, fault, { kind: 'black-hole', half: fault.half })
    case 'fail-receiver': {
      const receiver = system.receivers.get(fault.receiver)
      await receiver?.behave(fault.mode)
      await sleep(fault.lengthMs)
      await receiver?.behave('healthy')
      return ran
    }
    case 'long-transaction':
      return holdTransaction(system, fault)
    case 'crash-postgres':
      return system.whileServerIsOurs(() => crashPostgres(system, fault.lengthMs))
    case 'crash-at-mark':
      return system.whileServerIsOurs(() => crashAtMark(system, fault))
    case 'kill-backend':
      return system.whileServerIsOurs(() => killBackend(system))
    case 'exhaust-connections':
      return system.whileServerIsOurs(() => exhaustConnections(system, fault.lengthMs))
    case 'fill-disk':
      return system.whileServerIsOurs(() => fillDisk(system, fault.lengthMs))
    case 'promote-standby':
      return system.whileServerIsOurs(() => promoteStandby(system))
  }
}

async function disturb(
  system: FaultSystem,
  { target, lengthMs }: { target: string; lengthMs: number },
  behaviour: Behaviour,
): Promise<FaultOutcome> {
  const link = linkOf(system, target)
  link.behave(behaviour)
  await sleep(lengthMs)
  link.behave({ kind: 'pass' })
  return ran
}

async function applyAtMark(
  system: FaultSystem,
  fault: Extract<Fault, { kind: 'kill-at-mark' | 'cut-at-mark' }>,
): Promise<FaultOutcome> {
  let killed: Promise<void> = Promise.resolve()
  const reached = await untilMark(system, fault, () => {
    if (fault.kind === 'kill-at-mark') killed = processOf(system, fault.target).kill(fault.lengthMs)
  })
  await killed
  return reached ? ran : { ran: false, why: `${fault.mark} was not reached` }
}

/** PostgreSQL is killed as it answers a COMMIT: a client that gets the answer relies on it. */
async function crashAtMark(
  system: FaultSystem,
  fault: Extract<Fault, { kind: 'crash-at-mark' }>,
): Promise<FaultOutcome> {
  let crashed: Promise<FaultOutcome> | undefined
  const reached = await untilMark(system, { ...fault, moment: 'heard' }, () => {
    crashed = crashPostgres(system, fault.lengthMs, 'kill')
  })
  return reached && crashed ? crashed : { ran: false, why: `${fault.mark} was not reached` }
}

/** False when the statement has not come in time. `onReached` is called at the very moment. */
async function untilMark(
  system: FaultSystem,
  { target, mark, moment, count }: { target: string; mark: MarkName; moment: MarkMoment; count: number },
  onReached: () => void,
): Promise<boolean> {
  const link = linkOf(system, target)
  const reached = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, MARK_MS_MAX, false)
    link.watch({
      text: marks[mark].text,
      moment,
      count,
      onReached() {
        onReached()
        clearTimeout(timer)
        resolve(true)
      },
    })
  })
  link.watch(undefined)
  return reached
}

function processOf(system: FaultSystem, name: string): SupervisedProcess {
  const process = system.processes.get(name)
  if (process === undefined) throw new Error(`there is no process ${name}`)
  return process
}

function linkOf(system: FaultSystem, name: string): Link {
  const link = system.links.get(name)
  if (link === undefined) throw new Error(`there is no link ${name}`)
  return link
}
