import { readdir, readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { BACKLOG_COUNT_MAX, backlogStages } from '../../src/observability/backlog/backlog-collector.js'
import { createMetrics } from '../../src/observability/index.js'
import { logFieldNames } from '../../src/observability/log/log-fields.js'
import { loopParts } from '../../src/observability/metrics/define-metrics.js'
import { type Family, parseMetrics } from './metrics/parse-metrics.js'
import { recordEverything } from './metrics/record-everything.js'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFile(new URL(path, root), 'utf8')

let families: Map<string, Family>

/** Everything that a registry can show, each at least once. */
beforeAll(async () => {
  const stages = backlogStages.map((stage) => ({ stage, count: 1, oldestAgeS: 1 }))
  const metrics = createMetrics({ backlog: { collect: async () => stages } })
  for (const record of Object.values(recordEverything)) record(metrics)
  families = parseMetrics((await metrics.render()).body)
})

const labelsOf = ({ samples }: Family) =>
  [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== 'le')

describe('docs/operating/metrics.md', () => {
  it('[O5] lists every metric of the registry with its type, labels and help, and no other', async () => {
    const page = await read('docs/operating/metrics.md')
    const rows = [...page.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \| (.*?) ?\| (.+) \|$/gm)]
    expect(
      rows.map(([, name, type, labels = '', help]) => [name, type, labels.match(/\w+/g) ?? [], help]),
    ).toEqual(
      [...families.values()].map((family) => [family.name, family.type, labelsOf(family), family.help]),
    )
  })

  it('[O5] lists the stages, the parts and the limit of a count', async () => {
    const page = await read('docs/operating/metrics.md')
    const [, stageRows = ''] = /^\| stage \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? []
    expect([...stageRows.matchAll(/^\| `(\w+)`/gm)].map(([, stage]) => stage)).toEqual([...backlogStages])
    const [, parts = ''] = /^\| `part` \| (.+) \|$/m.exec(page) ?? []
    expect(parts.match(/\w+/g)).toEqual([...loopParts])
    expect(page).toContain(`stops at ${BACKLOG_COUNT_MAX.toLocaleString('en')}`)
  })

  it('[O5] its alert rules use existing metrics and labels', async () => {
    const page = await read('docs/operating/metrics.md')
    const rules = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = '']) => block).at(-1) ?? ''
    const alerts = rules.split(/^ {6}- alert: /m).slice(1)
    expect(alerts.length).toBeGreaterThan(10)
    for (const alert of alerts)
      expect(alert).toMatch(/expr: .*labels: \{ severity: .*annotations: \{ summary: /s)

    const selectors = [...rules.matchAll(/\b((?:sagapost|process|nodejs)_\w+)(?:\{(.*?)\})?/g)]
    const unknown: string[] = []
    for (const [all, name = '', matchers = ''] of selectors) {
      const family = families.get(name) ?? families.get(name.replace(/_(bucket|count|sum)$/, ''))
      if (!family?.samples.some((sample) => sample.name === name)) unknown.push(all)
      for (const [, label = '', operator, value = ''] of matchers.matchAll(/(\w+)(=~?)"(.*?)"/g)) {
        const values = new Set(family?.samples.map(({ labels }) => labels[label]))
        const wanted = operator === '=' ? [value] : value.split('|').filter((each) => /^\w+$/.test(each))
        if (values.has(undefined) || wanted.some((each) => !values.has(each))) unknown.push(all)
      }
    }
    expect(unknown).toEqual([])
  })
})

describe('docs/operating/logs.md', () => {
  it('[J11, O5] lists the fields that all parts share', async () => {
    const [, fields = ''] = /^## Fields\n(.*?)^## /ms.exec(await read('docs/operating/logs.md')) ?? []
    expect([...fields.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)).toEqual([...logFieldNames])
  })

  it('[O5] quotes messages that the parts write, at the level that it says', async () => {
    const page = await read('docs/operating/logs.md')
    const rows = [...page.matchAll(/^\| `(?:… )?([^`]+)` \| (error|warn) \|/gm)]
    expect(rows.length).toBeGreaterThan(5)
    const files = (await readdir(new URL('src/', root), { recursive: true })).filter((file) =>
      file.endsWith('.ts'),
    )
    const source = (await Promise.all(files.map((file) => read(`src/${file}`)))).join('\n')
    const calls = [
      ...source.matchAll(/\blog\s*\.(error|warn)\((?:[^()]|\([^()]*\))*\)/g),
      ...source.matchAll(/\blogFailure\((?:[^()]|\([^()]*\))*\)/g),
    ].map(([call]) => call.replace(/^logFailure/, 'log.error'))
    const missing = rows.filter(
      ([, message = '', level = '']) =>
        !calls.some((call) => call.startsWith(`log.${level}`) && call.includes(message.replace(/ ?…$/, ''))),
    )
    expect(missing.map(([, message]) => message)).toEqual([])
  })
})
