import { readFile } from 'node:fs/promises'

const page = new URL('../../docs/internals/rules.md', import.meta.url)

/** The rules of docs/internals/rules.md, in its order. */
export async function readRules(): Promise<{ anchor: string; id: string; title: string }[]> {
  const entries = (await readFile(page, 'utf8')).matchAll(
    /^<a id="(.*?)"><\/a>\*\*([A-Z]\d+)\. (.+?)\.\*\*/gm,
  )
  return [...entries].map(([, anchor = '', id = '', title = '']) => ({ anchor, id, title }))
}
