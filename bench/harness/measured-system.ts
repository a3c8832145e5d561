import type pg from 'pg'

/** Something that posts to the receiver, and whose turn can be measured. */
export interface MeasuredSystem {
  name: string
  processes: readonly { name: string; pid: number }[]
  /** What is done for it before each of its turns, and not counted. */
  prepareTurn?(): Promise<unknown>
  /** Resolves when this many are handed in (or, for the bare limit, answered). */
  enqueue(count: number): Promise<unknown>
  /** How many requests one handed-in event makes. */
  fanOut: number
  /** Null without a database. */
  database: { name: string; url: string; pool: pg.Pool; openWork: string } | null
  /** Throws when something in the database is wrong. */
  check(): Promise<void>
  stop(): Promise<void>
}

/** Events that are enqueued by one statement, in every system. */
export const ENQUEUE_BATCH = 100
