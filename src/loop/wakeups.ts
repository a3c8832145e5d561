/** The stages that somebody can have work for. */
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
/** What processes tell each other. */
export type Signal = Stage | 'backlog'

/** Workers with a backlog say so to other processes this often, and their word counts for so long. */
const TELL_BACKLOG_EVERY_MS = 100
const BACKLOG_COUNTS_MS = 200

export interface Wakeups {
  /** There is work: tells whoever waits for this stage in this process, else the other processes. */
  wake(stage: Stage): void
  /** Tells whoever waits in this process and nobody else. */
  wakeHere(stage: Stage): void
  onWake(stage: Stage, listener: () => void): () => void
  /** Where to pass on what nobody in this process waits for. */
  passOnTo(pass: (signal: Signal) => void): void
  /**
   * Whether more jobs are free than the workers of this process can hold; they say so with each claim. Other processes
   * are told where this one does not run what goes by it, the router and the orchestrator.
   */
  tellBacklog(hasBacklog: boolean): void
  /** The same from the workers of another process. */
  hearBacklog(): void
  /** Whether workers have a backlog: those of this process, or where it has none, any. */
  hasBacklog(): boolean
}

/** Signals between the parts. They only save time: every part also polls. */
export function createWakeups(): Wakeups {
  const listeners = new Map<Stage, Set<() => void>>()
  let passOn: (signal: Signal) => void = () => {}
  /** Undefined: no worker of this process has said. */
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
