import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from '../system/fault-system.js'
import { defineSagas } from './define-sagas.js'
import { loadBuilt } from './load-built.js'
import { type LoadTally, noteAnswer } from './load-tally.js'

const AGAIN_MS = 200

export interface SagaStarter {
  /** Until it is known to be started; asked again, it is the same one. */
  start(order: number, refused: boolean): Promise<void>
  close(): Promise<void>
}

/** Starts general sagas as an application does that does not run them itself. */
export async function openSagaStarter(
  system: FaultSystem,
  tally: LoadTally,
  signal: AbortSignal,
): Promise<SagaStarter> {
  const { Sagapost, saga, NonRetryableError } = await loadBuilt.face()
  const definition = defineSagas({ saga, NonRetryableError })
  const sagapost = new Sagapost({ databaseUrl: system.publisherUrl, parts: [] })
  return {
    async start(order, refused) {
      while (!signal.aborted) {
        try {
          const { id } = await sagapost.sagas.start(definition, { order, refused }, { key: String(order) })
          const known = tally.sagasStarted.get(order)
          if (known !== undefined && known !== id)
            tally.wrong.push(`order ${order} was started as ${known} and ${id}`)
          tally.sagasStarted.set(order, id)
          return
        } catch {
          noteAnswer(tally, 'no answer')
          await sleep(AGAIN_MS)
        }
      }
    },
    close: () => sagapost.stop(),
  }
}
