import type pg from 'pg'
import type { StepTransaction } from '../../definition.js'

/** A step may use savepoints but not end the transaction. Comments may precede the keyword. */
const TRANSACTION_CONTROL =
  /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i

export interface LentTransaction {
  readonly tx: StepTransaction
  /** Refuses further statements: a step that continues would write outside of its transaction. */
  takeBack(): void
}

/** Lends the connection for one step. Statements sent before it is taken back still run inside the transaction. */
export function lendTransaction(client: pg.ClientBase): LentTransaction {
  let over = false
  const query = (...args: unknown[]): unknown => {
    const [first] = args
    const text = typeof first === 'string' ? first : ((first as { text?: unknown } | undefined)?.text ?? '')
    if (over) return Promise.reject(new Error('the transaction of this step is over'))
    if (typeof text === 'string' && TRANSACTION_CONTROL.test(text)) {
      return Promise.reject(new Error('the transaction of a step is begun and ended by its coordinator'))
    }
    return (client.query as (...args: unknown[]) => unknown).apply(client, args)
  }
  return {
    tx: { query: query as StepTransaction['query'] },
    takeBack() {
      over = true
    },
  }
}
