/** A change of one file: a text that occurs exactly once and its replacement, or lines appended at the end. */
export type Edit =
  | { file: string; find: string; replace: string }
  /** For changes to a complete schema, such as a disabled guard. */
  | { file: string; append: string }

export interface NamedTest {
  file: string
  /** The text in the file, placeholders of `it.each` and template texts included: any of its cases counts. */
  title: string
}

/** A seeded bug, and the test that must notice it. */
export interface Mutant {
  id: string
  rules: readonly string[]
  /** One sentence: what is wrong now. */
  breaks: string
  edits: readonly Edit[]
  test: NamedTest
  /** The test runs the built program. */
  needsBuild?: true
}

export type Outcome =
  /** The named test failed. */
  | 'killed'
  /** It passed: the bug goes unnoticed. */
  | 'SURVIVED'
  /** The text to change is not there any more, or there more than once. */
  | 'stale'
  /** The test did not run at all: the change does not even load, or the run hung beyond every limit. */
  | 'error'

export interface Verdict {
  outcome: Outcome
  /** How the test failed, or what went wrong: the first line of it. */
  detail: string
}

export interface MutantResult extends Verdict {
  mutant: Mutant
  seconds: number
}
