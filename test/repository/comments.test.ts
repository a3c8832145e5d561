import { readdir, readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const LINES_MAX = 4

interface Comment {
  at: string
  lines: readonly string[]
}

let sources: { file: string; text: string }[]
let comments: Comment[]

beforeAll(async () => {
  const files = (await readdir(new URL('src/', root), { recursive: true })).filter((file) =>
    file.endsWith('.ts'),
  )
  sources = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(new URL(`src/${file}`, root), 'utf8') })),
  )
  comments = sources.flatMap(({ file, text }) => commentsOf(file, text))
  expect(comments.length).toBeGreaterThan(1_000)
})

/** Comments on lines of their own, in TypeScript and in its SQL. */
function commentsOf(file: string, text: string): Comment[] {
  const found = text.matchAll(/^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+|(?:^[ \t]*-- .*\n)+/gm)
  return [...found].map((match) => ({
    at: `${file}:${text.slice(0, match.index).split('\n').length}`,
    lines: match[0]
      .split('\n')
      .map((line) => line.replace(/^\s*(\/\*\*?|\*\/|\*|\/\/|--)?\s?|\s*\*\/$/g, ''))
      .filter((line) => line !== ''),
  }))
}

describe('comments in src', () => {
  it('[O1] have four lines at most: a longer argument is in docs/internals, and is named', () => {
    const long = comments.filter(({ lines }) => lines.length > LINES_MAX).map(({ at }) => at.split(':')[0])
    // The one exception; its argument is in docs/internals/hot-statements.md.
    expect(long.filter((file) => !file?.endsWith('/make-jobs.ts'))).toEqual([])
  })

  it('[S21, J9] name headings of docs/internals/hot-statements.md', async () => {
    const page = await readFile(new URL('docs/internals/hot-statements.md', root), 'utf8')
    const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase())
    const unknown = comments.flatMap(({ at, lines }) => {
      const [, list] = /hot-statements\.md: ([^.;()]+)/.exec(lines.join(' ')) ?? []
      return list === undefined ? [] : withoutHeadings(list, headings, at)
    })
    expect(unknown).toEqual([])
  })

  it('[S21, J9] every statement that docs/internals/hot-statements.md names is there', async () => {
    const page = await readFile(new URL('docs/internals/hot-statements.md', root), 'utf8')
    const migrations = await readdir(new URL('migrations/', root))
    const texts = await Promise.all(
      migrations.map((file) => readFile(new URL(`migrations/${file}`, root), 'utf8')),
    )
    const all = [...sources.map(({ text }) => text), ...texts].join('\n')
    const names = new Set([...page.matchAll(/`([a-z]+(?:[A-Z]\w+|_\w+)+)`/g)].map(([, name = '']) => name))
    expect(names.size).toBeGreaterThan(50)
    const known = ['perform_pruning_base_step']
    expect(
      [...names].filter((name) => !known.includes(name) && !new RegExp(`\\b${name}\\b`).test(all)),
    ).toEqual([])
  })
})

/** What is left of the list when its headings, which may have commas, are taken out. */
function withoutHeadings(list: string, headings: readonly string[], at: string): string[] {
  const longestFirst = [...headings].sort((one, other) => other.length - one.length)
  const rest = longestFirst.reduce((text, heading) => text.replaceAll(heading, ''), list)
  return /[a-z]/.test(rest) ? [`${at}: ${rest.replace(/[\s,]+/g, ' ').trim()}`] : []
}
