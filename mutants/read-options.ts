import { parseArgs } from 'node:util'
import type { Mutant } from './mutant.js'

export interface MutantOptions {
  mutants: readonly Mutant[]
  /** Where the results go as JSON. */
  jsonFile: string | undefined
  /** Print the catalogue, run nothing. */
  list: boolean
}

export const usage = `npm run test:mutants -- [options]

  --only a,b     only these mutants
  --list         print the catalogue as a table; nothing is run
  --json FILE    write the results there as JSON`

/** Undefined when only help was asked for. */
export function readOptions(
  args: readonly string[],
  catalogue: readonly Mutant[],
): MutantOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean' },
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  })
  if (values.help) return undefined
  const mutants = values.only?.split(',').map((id) => {
    const found = catalogue.find((mutant) => mutant.id === id)
    if (!found) throw new Error(`there is no mutant "${id}"; --list shows all`)
    return found
  })
  return { mutants: mutants ?? catalogue, jsonFile: values.json, list: values.list }
}
