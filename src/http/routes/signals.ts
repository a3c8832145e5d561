import { blindBox, createPostgresStorage, SIGNAL_PAYLOAD_BYTES_MAX, sendSignal } from '../../sagas/index.js'
import type { Api, ApiOptions } from '../api.js'
import { present } from '../present.js'
import { access } from '../require-scope.js'
import { newSignal, signalReceipt } from '../saga-schemas.js'

/** Allowance for the name, the key and whitespace around a payload of the maximum size. */
const BODY_BYTES_MAX = SIGNAL_PAYLOAD_BYTES_MAX + 64 * 1024

/** Sends signals to sagas. Name and key identify a signal, so no other idempotency key is needed. */
export function addSignalRoutes(api: Api, { pools, onSagaChanged }: ApiOptions): void {
  const storage = createPostgresStorage({ pool: pools.sagas, dataBox: blindBox })

  api.route({
    method: 'POST',
    url: '/v1/signals',
    bodyLimit: BODY_BYTES_MAX,
    config: {
      access: access.signal,
      refusals: ['signal_invalid', 'signal_conflict', 'idempotency_key_busy'],
    },
    schema: {
      operationId: 'sendSignal',
      summary: 'Send a signal to the sagas that wait for it, now or later',
      description:
        'Kept until `expiresAt`. Only the first signal with a name and key counts: a repeated one is answered with ' +
        '`duplicate: true`, another payload with 409.',
      tags: ['sagas'],
      body: newSignal,
      response: { 202: signalReceipt },
    },
    async handler({ body }, reply) {
      const { created, receivedAt, expiresAt } = await sendSignal(storage, body)
      if (created) onSagaChanged?.()
      const { name, key } = body
      return reply.code(202).send(present({ name, key, receivedAt, expiresAt, duplicate: !created }))
    },
  })
}
