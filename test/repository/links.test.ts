import { readdirSync, readFileSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const NOT_OURS = ['node_modules', 'dist', 'coverage', 'output', 'results']
const MENTION = /\bdocs\/[a-z-]+\/[a-z-]+\.md(?:#[a-z0-9_-]+)?/g

const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const files = filesUnder('')
const pages = files.filter((file) => file.endsWith('.md'))

it('[O1] every relative link and anchor in a page resolves', () => {
  const broken = pages.flatMap((page) =>
    linksOf(read(page))
      .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`),
  )
  expect(pages).toContain('docs/internals/decisions.md')
  expect(broken).toEqual([])
})

it('[O1] every page and anchor that a comment, a message or a script names exists', () => {
  const sources = files.filter(
    (file) => /\.(ts|tsx|mjs|sql|json)$/.test(file) && file !== 'package-lock.json',
  )
  const broken = sources.flatMap((file) =>
    (read(file).match(MENTION) ?? [])
      .filter((link) => !leadsSomewhere('', link))
      .map((link) => `${file}: ${link}`),
  )
  expect(broken).toEqual([])
})

it('[O1] every picture in docs/images is shown by a page', () => {
  const shown = new Set(pages.flatMap((page) => linksOf(read(page)).map((link) => resolve(page, link).path)))
  expect(files.filter((file) => file.startsWith('docs/images/') && !shown.has(file))).toEqual([])
})

function filesUnder(folder: string): string[] {
  return readdirSync(new URL(folder || '.', root), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || NOT_OURS.includes(entry.name)) return []
    if (entry.isDirectory()) return filesUnder(`${folder}${entry.name}/`)
    return entry.isFile() ? [folder + entry.name] : []
  })
}

function leadsSomewhere(page: string, link: string): boolean {
  const { path, anchor } = resolve(page, link)
  if (!statSync(new URL(path || '.', root), { throwIfNoEntry: false })) return false
  return anchor === '' || (path.endsWith('.md') && anchorsOf(path).has(anchor))
}

/** From the root of the repository. */
function resolve(page: string, link: string): { path: string; anchor: string } {
  const { pathname, hash } = new URL(link, `file:///${page}`)
  return { path: decodeURIComponent(pathname.slice(1)), anchor: decodeURIComponent(hash.slice(1)) }
}

function linksOf(markdown: string): string[] {
  const text = withoutBlocks(markdown).replace(/`[^`\n]*`/g, '')
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link)
}

const anchors = new Map<string, ReadonlySet<string>>()

function anchorsOf(page: string): ReadonlySet<string> {
  const known = anchors.get(page)
  if (known) return known
  const text = withoutBlocks(read(page))
  const found = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id))
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = slugOf(heading)
    let unique = slug
    for (let n = 1; found.has(unique); n++) unique = `${slug}-${n}`
    found.add(unique)
  }
  anchors.set(page, found)
  return found
}

/** As GitHub makes them. */
const slugOf = (heading: string) =>
  heading
    .trim()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')

const withoutBlocks = (markdown: string) => markdown.replace(/^ *```.*?^ *```/gms, '')
