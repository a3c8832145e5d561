/** First what takes on work, then what records it until it has ended, then the connections of both. */
const stages = ['work', 'records', 'connections'] as const
type Stage = (typeof stages)[number]

interface Started {
  name: string
  stop: () => Promise<unknown>
}

/** Collects how to stop each thing that was started. */
export interface Stops {
  add(stage: Stage, name: string, stop: Started['stop']): void
  /** Runs stage by stage, each stage concurrently. Throws the first failure after everything has stopped. */
  run(): Promise<void>
  /** What has not stopped yet in the current stage. */
  left(): string[]
}

export function createStops(): Stops {
  const started = new Map<Stage, Set<Started>>(stages.map((stage) => [stage, new Set()]))
  return {
    add(stage, name, stop) {
      started.get(stage)?.add({ name, stop })
    },
    async run() {
      const failures: unknown[] = []
      for (const stage of stages) {
        const entries = started.get(stage) ?? new Set()
        await Promise.all(
          [...entries].map(async (entry) => {
            await entry.stop().catch((error: unknown) => failures.push(error))
            entries.delete(entry)
          }),
        )
      }
      if (failures.length > 0) throw failures[0]
    },
    left() {
      const waited = stages
        .map((stage) => started.get(stage) ?? new Set<Started>())
        .find(({ size }) => size > 0)
      return [...new Set([...(waited ?? [])].map(({ name }) => name))]
    },
  }
}
