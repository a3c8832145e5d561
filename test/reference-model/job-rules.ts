import type { Job, Model } from './model.js'
import { choose, get, Mismatch, type Plan } from './plan.js'
import type { Look } from './read-state.js'
import { settings } from './rules.js'
import { stopOfJob } from './stop-rules.js'
import { enqueue } from './take-rows.js'

/** [J4, J9] Free jobs, those that have been free longest first, under one token that nobody has had; each is to be sent or not. */
export const planClaim =
  (worker: string, most: number, shared: boolean): Plan =>
  (model, look) => {
    const free = [...model.jobs].filter(
      ([name, { status, untilMs }]) =>
        status === 'Pending' && untilMs <= model.nowMs && !model.locked.has(`job ${name}`),
    )
    const chosen = choose({
      what: 'claim',
      names: free.map(([name]) => name),
      most,
      isTaken: (name) => {
        const row = look.jobs.get(name)
        return row?.worker === worker && row.token !== get(model.jobs, name).token
      },
      order: (name) => get(model.jobs, name).untilMs,
      shared,
    })
    if (chosen.length > most)
      throw new Mismatch(`claim: ${worker} has ${chosen.length} jobs, and wanted ${most}`)
    const untilMs = model.nowMs + settings.leaseMs
    const told = chosen.map((name) => `${name} ${stopOfJob(model, name)}`).sort()
    return {
      locks: chosen.map((name) => `job ${name}`),
      commit(at, then) {
        const [fresh = null] = chosen.map((name) => then.jobs.get(name)?.token)
        if (fresh !== null && at.tokens.has(fresh)) throw new Mismatch(`claim: ${worker} has an old token`)
        for (const name of chosen) {
          const token = then.jobs.get(name)?.token ?? null
          if (token === null || token !== fresh)
            throw new Mismatch(`claim: ${name} does not have the claim's token`)
          at.tokens.add(token)
          Object.assign(get(at.jobs, name), { status: 'Leased', worker, token, untilMs })
        }
        return { claimed: told }
      },
    }
  }

/** What a worker knows of a job that it claimed, and what came of its request. */
export interface Report {
  job: string
  token: string
  error: string | null
  response: number | null
  retryAfterS: number | null
}

const isHeld = (model: Model, { job, token }: { job: string; token: string }) => {
  const row = get(model.jobs, job)
  return row.status === 'Leased' && row.token === token
}

/** [J5, J6] Only under the lease that the job has now; any other report changes nothing. What is taken waits to be counted. */
export const planReport =
  (reports: readonly Report[]): Plan =>
  (model) => {
    const accepted = reports.filter((report) => isHeld(model, report))
    const { nowMs } = model
    return {
      locks: accepted.map(({ job }) => `job ${job}`),
      commit(at, then) {
        for (const { job, error, response, retryAfterS } of accepted) {
          const result: Partial<Job> = {
            status: error === null ? 'Completed' : 'Failed',
            error,
            response,
            retryAfterS,
          }
          Object.assign(get(at.jobs, job), result)
        }
        enqueue(at, then, 'unapplied', {
          type: null,
          entries: accepted.map(({ job }) => job),
          sinceMs: nowMs,
        })
        return { accepted: accepted.map(({ job }) => job).sort() }
      },
    }
  }

/** A job that its worker has not sent and gives back is free at once. */
export const planGiveBack =
  (held: { job: string; token: string }): Plan =>
  (model) => {
    const isOurs = isHeld(model, held)
    const { nowMs } = model
    return {
      locks: isOurs ? [`job ${held.job}`] : [],
      commit(at) {
        if (!isOurs) return {}
        Object.assign(get(at.jobs, held.job), { status: 'Pending', untilMs: nowMs })
        return {}
      },
    }
  }

/** [J4, J5] What a claim leased whose answer was lost is free at once: whatever is held under its token, and nothing else. */
export const planRecover =
  (tokens: ReadonlySet<string>): Plan =>
  (model) => {
    const names = [...model.jobs]
      .filter(([, { status, token }]) => status === 'Leased' && token !== null && tokens.has(token))
      .map(([name]) => name)
    const { nowMs } = model
    return {
      locks: names.map((name) => `job ${name}`),
      commit(at) {
        for (const name of names) Object.assign(get(at.jobs, name), { status: 'Pending', untilMs: nowMs })
        return { recovered: names.length }
      },
    }
  }

/** [J8] Jobs whose lease is over are free again; after several lost leases they have failed, and wait to be counted. */
export const planClean =
  (most: number, shared: boolean): Plan =>
  (model, look) => {
    const stale = [...model.jobs].filter(
      ([name, { status, untilMs }]) =>
        status === 'Leased' && untilMs < model.nowMs && !model.locked.has(`job ${name}`),
    )
    const chosen = choose({
      what: 'clean',
      names: stale.map(([name]) => name),
      most,
      // Claimed again at the same moment, it is Leased as before, under another token.
      isTaken: (name) => {
        const row = look.jobs.get(name)
        return row?.status !== 'Leased' || row.token !== get(model.jobs, name).token
      },
      order: (name) => get(model.jobs, name).untilMs,
    })
    const { nowMs } = model
    return {
      locks: chosen.map((name) => `job ${name}`),
      commit(at, then) {
        for (const name of chosen) {
          const job = get(at.jobs, name)
          job.resets += 1
          job.status = job.resets < settings.lostLeasesMax ? 'Pending' : 'Failed'
          job.error = job.status === 'Failed' ? 'lease_expired' : null
          if (job.status === 'Pending') job.untilMs = nowMs
        }
        const failed = chosen.filter((name) => get(at.jobs, name).status === 'Failed')
        if (shared) enqueueAsSeen(at, then, failed, nowMs)
        else enqueue(at, then, 'unapplied', { type: null, entries: failed, sinceMs: nowMs })
        return { reset: [...chosen].sort() }
      },
    }
  }

/** Two at once share them out in whichever way: a row is the model's as soon as all that it names have failed. */
function enqueueAsSeen(model: Model, look: Look, failed: readonly string[], sinceMs: number): void {
  const known = new Set(model.unapplied.map(({ id }) => id))
  const rows = look.unapplied.filter(({ id }) => !known.has(id)).map(({ entries }) => entries)
  const hasFailed = (name: string) => model.jobs.get(name)?.status === 'Failed'
  const whole = rows.filter((row) => row.some((name) => failed.includes(name)) && row.every(hasFailed))
  const missing = failed.filter((name) => !rows.some((row) => row.includes(name)))
  for (const entries of [...whole, missing])
    enqueue(model, look, 'unapplied', { type: null, entries, sinceMs })
}
