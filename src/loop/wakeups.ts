/** The stages that can be woken for work. */
export const stages = [
  'routing',
  'first-jobs',
  'claims',
  'results',
  'switches',
  'sagas',
  'partitions',
] as const
export type Stage = (typeof stages)[number]
/** The signals between processes. */
export type Signal = Stage | 'backlog'

/** How often workers announce a backlog to other processes, and how long an announcement counts. */
const TELL_BACKLOG_EVERY_MS = 100
const BACKLOG_COUNTS_MS = 200

export interface Wakeups {
  /**
   * Announces work: wakes the listeners of this stage in this process; if there are none, signals the other processes.
   */
  wake(stage: Stage): void
  /** Wakes listeners in this process only. */
  wakeHere(stage: Stage): void
  onWake(stage: Stage, listener: () => void): () => void
  /** Sets where signals go that have no listener in this process. */
  passOnTo(pass: (signal: Signal) => void): void
  /**
   * Records whether more jobs are free than the workers of this process can hold; they report it with each claim. Other
   * processes are signalled when this one does not run the router and the orchestrator, which depend on it.
   */
  tellBacklog(hasBacklog: boolean): void
  /** Records a backlog announced by workers of another process. */
  hearBacklog(): void
  /** Whether workers have a backlog: those of this process, or of any process when this one runs none. */
  hasBacklog(): boolean
}

/** Signals between the parts. They only save time: every part also polls. */
export function createWakeups(): Wakeups {
  const listeners = new Map<Stage, Set<() => void>>()
  let passOn: (signal: Signal) => void = () => {}
  /** Undefined until a worker of this process has reported. */
  let hasBacklogHere: boolean | undefined
  let toldAtMs = Number.NEGATIVE_INFINITY
  let heardAtMs = Number.NEGATIVE_INFINITY
  const isWaitedFor = (stage: Stage) => (listeners.get(stage)?.size ?? 0) > 0
  const wakeHere = (stage: Stage): boolean => {
    for (const listener of listeners.get(stage) ?? []) listener()
    return isWaitedFor(stage)
  }
  return {
    wake(stage) {
      if (!wakeHere(stage)) passOn(stage)
    },
    wakeHere,
    onWake(stage, listener) {
      const set = listeners.get(stage) ?? new Set()
      listeners.set(stage, set.add(listener))
      return () => set.delete(listener)
    },
    passOnTo(pass) {
      passOn = pass
    },
    tellBacklog(hasBacklog) {
      hasBacklogHere = hasBacklog
      if (!hasBacklog || (isWaitedFor('routing') && isWaitedFor('first-jobs'))) return
      if (performance.now() - toldAtMs < TELL_BACKLOG_EVERY_MS) return
      toldAtMs = performance.now()
      passOn('backlog')
    },
    hearBacklog() {
      heardAtMs = performance.now()
    },
    hasBacklog: () => hasBacklogHere ?? performance.now() - heardAtMs < BACKLOG_COUNTS_MS,
  }
}
