/** The stages that somebody can have work for. */
type Stage = 'routing' | 'first-jobs' | 'claims' | 'results'

export interface Wakeups {
  /** Tells whoever waits for this stage that there is work. */
  wake(stage: Stage): void
  onWake(stage: Stage, listener: () => void): () => void
}

/** Signals between the parts of one process. They only save time: every part also polls. */
export function createWakeups(): Wakeups {
  const listeners = new Map<Stage, Set<() => void>>()
  return {
    wake(stage) {
      for (const listener of listeners.get(stage) ?? []) listener()
    },
    onWake(stage, listener) {
      const set = listeners.get(stage) ?? new Set()
      listeners.set(stage, set.add(listener))
      return () => set.delete(listener)
    },
  }
}
