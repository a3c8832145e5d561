import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Edit, Mutant } from './mutant.js'

/** A text to change that is not there exactly once: the code has moved on, and the mutant must follow. */
export class StaleMutant extends Error {}

/** The file's text with the edit made. */
export function applyEdit(text: string, edit: Edit): string {
  if ('append' in edit) return `${text}\n${edit.append}\n`
  const [before, after, ...more] = text.split(edit.find)
  if (before === undefined || after === undefined || more.length > 0) {
    const times = after === undefined ? 'no more' : `${more.length + 1} times`
    throw new StaleMutant(`${edit.file} has it ${times}: ${edit.find.trim().split('\n')[0]}`)
  }
  return before + edit.replace + after
}

/** Makes the edits under `folder`, all or none; the returned function takes them back. */
export async function applyMutant(folder: string, { edits }: Mutant): Promise<() => Promise<void>> {
  const originals = new Map<string, string>()
  const changed = new Map<string, string>()
  for (const edit of edits) {
    const path = join(folder, edit.file)
    if (!originals.has(path)) originals.set(path, await readFile(path, 'utf8'))
    changed.set(path, applyEdit(changed.get(path) ?? originals.get(path) ?? '', edit))
  }
  for (const [path, text] of changed) await writeFile(path, text)
  return async () => {
    for (const [path, text] of originals) await writeFile(path, text)
  }
}
