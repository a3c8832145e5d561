/** What the publishers saw, for the report and for the rules that only they can see. */
export interface LoadTally {
  /** How often which answer came: `202`, `503 database_unreachable`, `no answer`, … */
  answers: Map<string, number>
  /** What must never happen, in words. */
  wrong: string[]
  sagasStarted: Map<number, string>
}

export function createTally(): LoadTally {
  return { answers: new Map(), wrong: [], sagasStarted: new Map() }
}

export function noteAnswer({ answers }: LoadTally, answer: string): void {
  answers.set(answer, (answers.get(answer) ?? 0) + 1)
}

/** Away, busy, or unreachable: the only answers beside success that a database fault excuses. */
const excused =
  /^(no answer|202|200|201|429 .*|503 .*|item (database_unreachable|overloaded|idempotency_key_busy|schema_outdated))$/

/** [O8] The API says 503 when it cannot know, and never anything that blames the request. */
export function unexcusedAnswers({ answers }: LoadTally): string[] {
  return [...answers]
    .filter(([answer]) => !excused.test(answer))
    .map(([answer, times]) => `${answer} (${times} ×)`)
}
