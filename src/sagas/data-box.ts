import { SagapostError } from '../errors/index.js'
import { createSealer, formFaultOf, type SealFault } from '../sealer.js'

const KEY_BYTES = 32
export const SEALED_KEY = '$sagapost_sealed'

/** The row and column that the data belongs to: sealed data opens nowhere else. */
export interface DataPlace {
  /** For a signal, its topic. */
  readonly sagaId: string
  readonly column:
    | 'initial_data'
    | 'current_data'
    | 'result_data'
    | 'input_data'
    | 'output_data'
    | 'error'
    | 'payload'
  readonly stepIndex?: number
}

/**
 * [G15] Encrypts data columns at rest. Takes and returns JSON text; sealed data is itself JSON that PostgreSQL accepts.
 */
export interface DataBox {
  seal(json: string, place: DataPlace): string
  /** Throws `saga_data_unreadable`. Data written before there was a key is returned as it is. */
  open(json: string, place: DataPlace): string
}

/** Sealed data that cannot be opened here. */
export class DataUnreadableError extends SagapostError {
  /** True when no key can open it. */
  readonly forGood: boolean

  constructor({ sagaId, column }: DataPlace, why: string, forGood: boolean, cause?: unknown) {
    super('saga_data_unreadable', `${column} of saga ${sagaId} cannot be opened: ${why}`, { cause })
    this.forGood = forGood
  }
}

/** Without a key: data is kept in the clear, and sealed data cannot be read. */
export const openBox: DataBox = {
  seal: (json) => json,
  open(json, place) {
    if (!looksSealed(json)) return json
    const sealed = readSealed(json)
    const fault = formFaultOf(sealed)
    if (fault) throw unreadable(place, sealed, fault)
    throw new DataUnreadableError(place, 'it is encrypted, and no key is given', false)
  },
}

/** For operators, who have no key: shows sealed data in its sealed form. */
export const blindBox: DataBox = { seal: (json) => json, open: (json) => json }

/** Whether a value is sealed data as a box without a key shows it. */
export function isSealed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && SEALED_KEY in value
}

/** Sealed data is `{"$sagapost_sealed": "<base64>"}`, bound to its place. */
export function createDataBox(key: Buffer): DataBox {
  if (key.length !== KEY_BYTES) {
    throw new SagapostError('config_invalid', `The key for the data of sagas must be ${KEY_BYTES} bytes`)
  }
  const sealer = createSealer(key, 'sagapost data key id')
  return {
    seal(json, place) {
      const sealed = sealer.seal(Buffer.from(json), labelOf(place))
      return JSON.stringify({ [SEALED_KEY]: sealed.toString('base64') })
    },
    open(json, place) {
      if (!looksSealed(json)) return json
      const sealed = readSealed(json)
      const opened = sealer.open(sealed, labelOf(place))
      if ('plain' in opened) return opened.plain.toString()
      throw unreadable(place, sealed, opened.fault, opened.cause)
    },
  }
}

function labelOf({ sagaId, column, stepIndex }: DataPlace): string {
  return `saga data\0${sagaId}\0${column}\0${stepIndex ?? ''}`
}

const looksSealed = (json: string) => json.startsWith(`{"${SEALED_KEY}"`)

function readSealed(json: string): Buffer {
  const text = (JSON.parse(json) as Record<string, unknown>)[SEALED_KEY]
  return Buffer.from(typeof text === 'string' ? text : '', 'base64')
}

function unreadable(place: DataPlace, sealed: Buffer, fault: SealFault, cause?: unknown) {
  const reasons: Record<SealFault, [why: string, forGood: boolean]> = {
    cut: ['it is damaged', true],
    // A newer release may know it.
    unknownFormat: [`its format ${sealed[0]} is unknown`, false],
    otherKey: ['it was encrypted with another key', false],
    mismatch: ['it is damaged or belongs elsewhere', true],
  }
  return new DataUnreadableError(place, ...reasons[fault], cause)
}
