import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../duration.js'
import { eventIdIn } from '../model/index.js'

const PAGE_ITEMS_MAX = 200

/** A command with `--json` and examples, as every verb has them. */
export function addVerb(
  parent: Command,
  usage: string,
  description: string,
  examples: readonly string[],
): Command {
  const lines = examples.map((example) => `  $ sagapost ${example}`)
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

export interface ListOptions {
  json?: true
  limit?: number
  cursor?: string
  all?: true
}

/** What every list takes. */
export function addListOptions(command: Command): Command {
  return command
    .option('--limit <number>', `how many, at most ${PAGE_ITEMS_MAX} (default 50)`, readLimit)
    .option('--cursor <cursor>', 'go on behind the page that named it')
    .addOption(new Option('--all', 'every page').conflicts(['limit', 'cursor']))
}

export interface RangeOptions {
  from?: string
  to?: string
}

export function addRangeOptions(command: Command): Command {
  return command
    .option('--from <time>', 'not before: 2026-01-31T12:00:00Z, or 2h for two hours ago', readTime)
    .option('--to <time>', 'before: as --from', readTime)
}

const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text)

export function readId(text: string): string {
  if (isId(text)) return text
  throw new InvalidArgumentError('An id is a decimal number.')
}

/** An event's id or its webhook id. */
export function readEventId(text: string): string {
  if (isId(text) || eventIdIn(text) !== null) return text
  throw new InvalidArgumentError('It is an id, a decimal number, or a webhook id, as in evt_1042_hfd2trxwlc.')
}

export function readPositive(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1.')
}

function readLimit(text: string): number {
  const limit = readPositive(text)
  if (limit <= PAGE_ITEMS_MAX) return limit
  throw new InvalidArgumentError(`At most ${PAGE_ITEMS_MAX}; --all gives everything.`)
}

/** In milliseconds. */
export function readAge(text: string): number {
  const ageMs = parseDuration(text)
  if (ageMs !== undefined) return ageMs
  throw new InvalidArgumentError('It reads 30m, 12h, 30d.')
}

/** As RFC 3339, or as a duration that has passed since. */
function readTime(text: string): string {
  const agoMs = parseDuration(text)
  const at = agoMs === undefined ? Date.parse(text) : Date.now() - agoMs
  const isTime = agoMs !== undefined || /^\d{4}-\d\d-\d\dT.+(Z|[+-]\d\d:\d\d)$/.test(text)
  if (isTime && !Number.isNaN(at)) return agoMs === undefined ? text : new Date(at).toISOString()
  throw new InvalidArgumentError('It reads 2026-01-31T12:00:00Z, or 30m, 2h, 7d for so long ago.')
}
