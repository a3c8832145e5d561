/** The stages that somebody can have work for. */
export const stages = ['routing', 'first-jobs', 'claims', 'results', 'sagas'] as const
export type Stage = (typeof stages)[number]

export interface Wakeups {
  /** There is work: tells whoever waits for this stage in this process, else the other processes. */
  wake(stage: Stage): void
  /** Tells whoever waits in this process and nobody else. */
  wakeHere(stage: Stage): void
  onWake(stage: Stage, listener: () => void): () => void
  /** Where to pass on what nobody in this process waits for. */
  passOnTo(pass: (stage: Stage) => void): void
  /** Whether more jobs are free than the workers of this process can hold; they say so with each claim. */
  tellBacklog(hasBacklog: boolean): void
  hasBacklog(): boolean
}

/** Signals between the parts. They only save time: every part also polls. */
export function createWakeups(): Wakeups {
  const listeners = new Map<Stage, Set<() => void>>()
  let passOn: (stage: Stage) => void = () => {}
  let backlog = false
  const wakeHere = (stage: Stage): boolean => {
    const waiting = listeners.get(stage)
    for (const listener of waiting ?? []) listener()
    return waiting !== undefined && waiting.size > 0
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
      backlog = hasBacklog
    },
    hasBacklog: () => backlog,
  }
}
