import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const source = fileURLToPath(new URL('../../src/', import.meta.url))
const page = readFileSync(join(source, 'README.md'), 'utf8')
const entries = readdirSync(source, { recursive: true, withFileTypes: true })
const pathOf = ({ parentPath, name }: { parentPath: string; name: string }) =>
  join(parentPath, name).slice(source.length)
const folders = entries.filter((each) => each.isDirectory()).map(pathOf)
const files = entries.filter((each) => each.isFile() && each.name.endsWith('.ts')).map(pathOf)

/** What a file imports of ours, by path from src. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), 'utf8')
  return [...text.matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)\.js'/g)].map(([, path = '']) =>
    normalize(join(dirname(file), `${path}.ts`)),
  )
}

/** The rows of one list of the page: the names in each. */
function rowsOf(heading: string): string[][] {
  const [, list = ''] = page.split(`\n### \`${heading}\`\n`)[1]?.match(/^\n((?:\d+\. .*\n?)+)/) ?? []
  return list
    .trim()
    .split('\n')
    .map((line) =>
      line.includes('its own files') ? ['.'] : [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    )
}

describe('the map of the source', () => {
  it('[O1] has a line for each folder, and for each file beside them', () => {
    const [, table = ''] = page.split('\n| room | what it is for |\n')
    const listed = [...table.matchAll(/^\| `([^`]+?)\/?` \|/gm)].map(([, name = '']) => name)
    const beside = files.filter((file) => !file.includes('/') && file !== 'index.ts')
    expect(listed.toSorted()).toEqual([...folders, ...beside].toSorted())
  })

  it('[O1] links to files that are there', () => {
    const linked = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path)
    const there = new Set([...folders, ...files, '../test/repository/rooms.test.ts'])
    expect(linked.filter((path) => !there.has(path))).toEqual([])
  })
})

/** These have all of their room, and stand above its rows. */
const faces = ['index.ts', 'face.ts', 'main.ts', 'run.ts']

describe('imports', () => {
  const headings = [...page.matchAll(/^### `([^`]+)`$/gm)].map(([, heading = '']) => heading)

  it('[O1] have a direction in each folder that has subfolders', () => {
    const nested = folders.filter((folder) => folders.some((other) => dirname(other) === folder))
    expect(headings.toSorted()).toEqual(['src', ...nested.map((folder) => `src/${folder}`)].toSorted())
  })

  it.each(headings)('[O1] of the folders in %s go from row to row downwards, and never back', (heading) => {
    const under = heading === 'src' ? '' : `${heading.slice('src/'.length)}/`
    const rows = rowsOf(heading)
    const rowOf = (room: string) => rows.findIndex((row) => row.includes(room))
    const roomOf = (file: string): string | undefined => {
      if (!file.startsWith(under)) return undefined
      const [first = '', ...rest] = file.slice(under.length).split('/')
      if (rest.length > 0) return first
      if (faces.includes(first)) return undefined
      return under === '' ? first : '.'
    }
    const rooms = new Set(files.flatMap((file) => roomOf(file) ?? []))
    expect(rows.flat().toSorted()).toEqual([...rooms].toSorted())
    const wrong = files.flatMap((file) =>
      importsOf(file).flatMap((imported) => {
        const [from, to] = [roomOf(file), roomOf(imported)]
        if (from === undefined || to === undefined || from === to || rowOf(to) > rowOf(from)) return []
        return [`${file} imports ${imported}`]
      }),
    )
    expect(wrong).toEqual([])
  })
})
