import { makeVisible } from './format-table.js'

export function showPayload(json: string, isTooLarge = false): string {
  return isTooLarge
    ? '(larger than 16 MiB: stored, but not shown or sent)'
    : json.split('\n').map(makeVisible).join('\n')
}
