export interface Family {
  name: string
  type: string
  help: string
  samples: Sample[]
}

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/
const VALUE = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]Inf|NaN)$/

/** Prometheus' text format 0.0.4, read strictly: whatever a scraper might stumble over throws. */
export function parseMetrics(body: string): Map<string, Family> {
  if (!body.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let family: Family | undefined
  let help: [name: string, text: string] | undefined
  for (const line of body.split('\n')) {
    if (line === '') continue
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment?.[1] === 'HELP') {
      help = [comment[2] as string, comment[3] as string]
    } else if (comment) {
      const [, , name = '', type = ''] = comment
      if (!NAME.test(name)) throw new Error(`not a name: ${line}`)
      if (families.has(name)) throw new Error(`a family in two places: ${line}`)
      if (help?.[0] !== name) throw new Error(`no help: ${line}`)
      if (!['counter', 'gauge', 'histogram'].includes(type)) throw new Error(`not a type: ${line}`)
      family = { name, type, help: help[1], samples: [] }
      families.set(name, family)
    } else {
      const sample = parseSample(line)
      if (!family || !belongs(sample.name, family)) throw new Error(`outside of its family: ${line}`)
      const key = seriesKey(sample)
      if (series.has(key)) throw new Error(`a series twice: ${line}`)
      series.add(key)
      family.samples.push(sample)
    }
  }
  for (const each of families.values()) checkFamily(each)
  return families
}

function parseSample(line: string): Sample {
  const [, name, labelText = '', valueText = ''] = SAMPLE.exec(line) ?? []
  if (name === undefined || !VALUE.test(valueText)) throw new Error(`not a sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = labelText; rest !== ''; ) {
    const [all, label, value] = LABEL.exec(rest) ?? []
    if (all === undefined || label === undefined || value === undefined || label in labels) {
      throw new Error(`not labels: ${line}`)
    }
    labels[label] = value
    rest = rest.slice(all.length)
  }
  return { name, labels, value: Number(valueText.replace('Inf', 'Infinity')) }
}

function belongs(name: string, { name: family, type }: Family): boolean {
  return type === 'histogram'
    ? ['_bucket', '_sum', '_count'].some((part) => name === family + part)
    : name === family
}

function checkFamily({ name, type, samples }: Family): void {
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${type}`)
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} below 0`)
  if (type !== 'histogram') return
  const buckets = new Map<string, Sample[]>()
  for (const { labels, ...sample } of samples.filter((each) => each.name === `${name}_bucket`)) {
    const { le = '', ...rest } = labels
    const key = seriesKey({ name, labels: rest })
    buckets.set(key, [...(buckets.get(key) ?? []), { ...sample, labels: { le } }])
  }
  for (const [key, list] of buckets) {
    const bounds = list.map(({ labels }) => Number(labels['le']?.replace('Inf', 'Infinity')))
    const values = list.map(({ value }) => value)
    if (!isAscending(bounds) || !isAscending(values)) throw new Error(`the buckets of ${key} are in no order`)
    const count = samples.find(
      (each) => each.name === `${name}_count` && key === seriesKey({ ...each, name }),
    )
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || count?.value !== values.at(-1)) {
      throw new Error(`the last bucket of ${key} does not hold all`)
    }
  }
}

const isAscending = (values: number[]) =>
  values.every((value, index) => index === 0 || value >= (values[index - 1] as number))

function seriesKey({ name, labels }: Pick<Sample, 'name' | 'labels'>): string {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}="${value}"`)
  return pairs.length > 0 ? `${name}{${pairs.join(',')}}` : name
}

/** Every series with its value; those of the process itself are left out, for they change by themselves. */
export function pipelineSeries(body: string): Map<string, number> {
  const families = [...parseMetrics(body).values()].filter(({ name }) => name.startsWith('sagapost_'))
  return new Map(families.flatMap(({ samples }) => samples.map((each) => [seriesKey(each), each.value])))
}
