import type { Step } from './steps.js'

/** A run that failed once. */
export interface KeptRun {
  /** What it found, and what was mended. */
  found: string
  /** Where it came from; the generator may have changed since. */
  seed: number
  path: string
  /** What it shrank to: this is what is run again. */
  steps: Step[]
}

export const keptRuns: readonly KeptRun[] = []
