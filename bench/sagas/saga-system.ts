export interface SagaSystemOptions {
  databaseUrl: string
  connections: number
}

/** What a step does, in every system: nothing but its answer, so that the engine is all that is measured. */
export function stepWork(step: string, order: number): { step: string; order: number } {
  return { step, order }
}
