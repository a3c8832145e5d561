import { readdir, readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { ruleTitles } from '../../src/doctor/rule-titles.js'
import { readRules } from '../support/read-rules.js'

const root = new URL('../../', import.meta.url)

const LETTERS = [...'SJDEUROG']

/** A letter and one or two digits that stand alone: not a compiler's flag (-O2), nor a part of a word, path or key. */
const TAG = /(?<![\w/+-])[SJDEURGO]\d{1,2}(?![\w/+=-])/g

const folders = [
  'bench',
  'dashboard',
  'docs',
  'examples',
  'faults',
  'migrations',
  'mutants',
  'scripts',
  'src',
  'test',
]
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']

const isText = (file: string) =>
  /\.(ts|tsx|mjs|sql|md|txt|css|html)$|\/catalogue\.json$/.test(file) &&
  !/(^|\/)(node_modules|results|output|dist)\//.test(file)

async function readTexts(): Promise<{ file: string; text: string }[]> {
  const listed = await Promise.all(
    folders.map(async (folder) => {
      const files = await readdir(new URL(folder, root), { recursive: true })
      return files.map((file) => `${folder}/${file}`)
    }),
  )
  const files = [...pages, ...listed.flat().filter(isText)]
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(new URL(file, root), 'utf8') })))
}

let texts: Awaited<ReturnType<typeof readTexts>>
let rules: Awaited<ReturnType<typeof readRules>>

beforeAll(async () => {
  texts = await readTexts()
  rules = await readRules()
  expect(texts.length).toBeGreaterThan(500)
})

describe('docs/internals/rules.md', () => {
  it('[O1] has each rule once, numbered from 1 under its letter, at the anchor of its id', () => {
    const inOrder = LETTERS.flatMap((letter) =>
      rules
        .filter(({ id }) => id.startsWith(letter))
        .map((_, index) => ({ id: `${letter}${index + 1}`, anchor: `${letter.toLowerCase()}${index + 1}` })),
    )
    expect(rules.map(({ id, anchor }) => ({ id, anchor }))).toEqual(inOrder)
    expect(new Set(rules.map(({ id }) => id.at(0)))).toEqual(new Set(LETTERS))
  })

  it('[O1] has every rule that the repository names', () => {
    const ids = new Set(rules.map(({ id }) => id))
    const unknown = texts.flatMap(({ file, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          [...line.matchAll(TAG)]
            .filter(([tag]) => !ids.has(tag))
            .map(([tag]) => `${file}:${index + 1} names ${tag}`),
        ),
    )
    expect(unknown).toEqual([])
  })

  it('[O1] has only rules that the title of a test names', () => {
    const titles = texts
      .filter(({ file }) => file.endsWith('.test.ts'))
      .flatMap(({ text }) => text.match(/['"`]\[[SJDEURGO]\d[^\]\n]*\]/g) ?? [])
    const named = new Set(titles.flatMap((title) => title.match(TAG) ?? []))
    expect(rules.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([])
  })

  it('[O6] has the titles that the doctor prints', () => {
    const titles: Record<string, string> = Object.fromEntries(rules.map(({ id, title }) => [id, title]))
    expect(titles).toMatchObject(ruleTitles)
  })
})
