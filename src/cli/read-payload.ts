import { createReadStream } from 'node:fs'
import { SagapostError } from '../errors/index.js'

/** More than any server accepts; the limit keeps an endless input from filling the memory. */
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024

/** The text of the payload, byte for byte: from the argument, a file, or standard input for `-`. */
export async function readPayload(
  argument: string | undefined,
  file: string | undefined,
  stdin: NodeJS.ReadableStream,
): Promise<string> {
  const text =
    file === undefined && argument !== undefined && argument !== '-'
      ? argument
      : decode(await readAll(file === undefined || file === '-' ? stdin : openFile(file), file))
  try {
    JSON.parse(text)
  } catch (error) {
    throw invalid(`The payload is not JSON: ${(error as Error).message}`)
  }
  if (/\p{Surrogate}/u.test(text)) throw invalid('The payload is not well-formed Unicode')
  return text
}

function openFile(file: string): NodeJS.ReadableStream {
  return createReadStream(file)
}

async function readAll(stream: NodeJS.ReadableStream, file: string | undefined): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length
      if (bytes > PAYLOAD_BYTES_MAX) {
        throw new SagapostError('payload_too_large', `The payload is larger than ${PAYLOAD_BYTES_MAX} bytes`)
      }
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (error instanceof SagapostError) throw error
    throw invalid(`The payload cannot be read from ${file ?? 'standard input'}: ${(error as Error).message}`)
  }
  return Buffer.concat(chunks)
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid('The payload is not UTF-8')
  }
}

function invalid(message: string): SagapostError {
  return new SagapostError('payload_invalid', message)
}
