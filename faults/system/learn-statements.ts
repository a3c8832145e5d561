/** A prepared statement is named by its text (src/database/prepared.ts), and sent as text once for each connection. */
const NAME = /sagapost_[0-9a-f]{16}$/
const NAME_BYTES = 'sagapost_'.length + 16

/** Knows marked statements again, also where only the name of a prepared one passes by. */
export interface StatementReader {
  /** Has to see everything that is sent. */
  read(chunk: Buffer): void
  has(chunk: Buffer, text: string): boolean
}

export function createStatementReader(texts: readonly string[]): StatementReader {
  const unknown = new Set(texts)
  const names = new Map<string, string>()
  return {
    read(chunk) {
      for (const text of unknown) {
        const at = chunk.indexOf(text)
        if (at < 0) continue
        unknown.delete(text)
        const name = nameBefore(chunk, at)
        if (name !== undefined) names.set(text, name)
      }
    },
    has(chunk, text) {
      const name = names.get(text)
      return chunk.includes(text) || (name !== undefined && chunk.includes(name))
    },
  }
}

/** The message reads: P, its length, the name, a zero, the text. */
function nameBefore(chunk: Buffer, textAt: number): string | undefined {
  const start = chunk.lastIndexOf('sagapost_', textAt)
  for (let at = start; at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf('sagapost_', at - 1)) {
    const name = chunk.toString('latin1', at, at + NAME_BYTES)
    if (chunk[at + NAME_BYTES] === 0 && NAME.test(name)) return chunk[at - 5] === 0x50 ? name : undefined
  }
  return undefined
}
