import { InvalidArgumentError } from 'commander'

export function readSagaId(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text) && !/^\.{1,2}$/.test(text)) return text
  throw new InvalidArgumentError('Must be a UUID.')
}
