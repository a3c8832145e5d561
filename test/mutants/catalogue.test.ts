import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { applyEdit } from '../../mutants/apply-mutant.js'
import { catalogue } from '../../mutants/catalogue/index.js'
import { readRules } from '../support/read-rules.js'

const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8')

const MUTANTS_MIN = 45

/** Bugs that must always be among them. */
const wanted = [
  'fencing-off',
  'acknowledged-before-commit',
  'result-applied-twice',
  'cursor-instead-of-queue',
  'terminal-guard-missing',
  'guard-dropped-on-one-partition',
  'stale-subscription-list',
]

describe('the catalogue of mutants', () => {
  it('[O6] breaks every rule at least once, and names only rules that exist', async () => {
    const ruleIds = (await readRules()).map(({ id }) => id)
    const broken = catalogue.flatMap(({ rules }) => rules)
    expect(ruleIds.filter((rule) => !broken.includes(rule))).toEqual([])
    expect(broken.filter((rule) => !ruleIds.includes(rule))).toEqual([])
    expect(catalogue.length).toBeGreaterThanOrEqual(MUTANTS_MIN)
  })

  it('[O6] names each mutant once, describes in a sentence what it breaks, and has the required ones', () => {
    const ids = catalogue.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([])
    expect(catalogue.filter(({ breaks }) => !/^[A-Z].*\.$/.test(breaks))).toEqual([])
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([])
  })

  it.each(catalogue)(
    '[O6] $id changes text that occurs exactly once, in src or migrations',
    async ({ edits }) => {
      const texts = new Map<string, string>()
      for (const edit of edits) {
        expect(edit.file).toMatch(/^(src\/.+\.ts|migrations\/\d{4}_\w+\.sql)$/)
        const before = texts.get(edit.file) ?? (await read(edit.file))
        const after = applyEdit(before, edit)
        expect(after).not.toBe(before)
        texts.set(edit.file, after)
      }
      expect(texts.size).toBeGreaterThan(0)
    },
  )

  it.each(catalogue)('[O6] $id has a test with that title', async ({ test }) => {
    const text = await read(test.file)
    const quoted = ["'", '"', '`'].map((quote) => `${quote}${test.title}${quote}`)
    expect(quoted.some((title) => text.includes(title))).toBe(true)
  })
})
