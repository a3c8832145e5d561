import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../duration.js'
import { eventIdIn } from '../model/index.js'

const PAGE_ITEMS_MAX = 200

/** Adds a command with the `--json` option and the examples that every command has. */
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

/** The options common to all lists. */
export function addListOptions(command: Command): Command {
  return command
    .option('--limit <number>', `page size, at most ${PAGE_ITEMS_MAX} (default 50)`, readLimit)
    .option('--cursor <cursor>', 'continue after the page that returned this cursor')
    .addOption(new Option('--all', 'every page').conflicts(['limit', 'cursor']))
}

export interface RangeOptions {
  from?: string
  to?: string
}

export function addRangeOptions(command: Command): Command {
  return command
    .option('--from <time>', 'at or after: 2026-01-31T12:00:00Z, or 2h for two hours ago', readTime)
    .option('--to <time>', 'before, in the same format as --from', readTime)
}

const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text)

export function readId(text: string): string {
  if (isId(text)) return text
  throw new InvalidArgumentError('Must be a decimal number.')
}

/** An event's id or its webhook id. */
export function readEventId(text: string): string {
  if (isId(text) || eventIdIn(text) !== null) return text
  throw new InvalidArgumentError(
    'Must be an id (a decimal number) or a webhook id such as evt_1042_hfd2trxwlc.',
  )
}

export function readPositive(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Must be a whole number of at least 1.')
}

function readLimit(text: string): number {
  const limit = readPositive(text)
  if (limit <= PAGE_ITEMS_MAX) return limit
  throw new InvalidArgumentError(`Must be at most ${PAGE_ITEMS_MAX}; --all lists everything.`)
}

/** In milliseconds. */
export function readAge(text: string): number {
  const ageMs = parseDuration(text)
  if (ageMs !== undefined) return ageMs
  throw new InvalidArgumentError('Must be a duration such as 30m, 12h or 30d.')
}

/** An RFC 3339 time, or the age of one, as a duration. */
function readTime(text: string): string {
  const agoMs = parseDuration(text)
  const at = agoMs === undefined ? Date.parse(text) : Date.now() - agoMs
  const isTime = agoMs !== undefined || /^\d{4}-\d\d-\d\dT.+(Z|[+-]\d\d:\d\d)$/.test(text)
  if (isTime && !Number.isNaN(at)) return agoMs === undefined ? text : new Date(at).toISOString()
  throw new InvalidArgumentError(
    'Must be a time such as 2026-01-31T12:00:00Z, or an age such as 30m, 2h or 7d.',
  )
}
