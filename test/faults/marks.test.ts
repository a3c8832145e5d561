import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { marks } from '../../faults/schedule/marks.js'

const source = new URL('../../src/', import.meta.url)
const texts = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(new URL(file, source), 'utf8'))

it.each(Object.entries(marks))(
  '[O6] the mark %s is in the source, or no process would ever be killed there',
  (_, { text }) => {
    const found = texts.filter((each) => each.includes(text))
    expect(found.length).toBeGreaterThan(0)
    if (text !== 'COMMIT') expect(found).toHaveLength(1)
  },
)
