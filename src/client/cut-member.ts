/**
 * The raw text of one member of a JSON object, so that a payload is shown as published: parsing and serializing would
 * turn 1e400 into null and change large numbers. The text must be valid JSON.
 */
export function cutMember(json: string, name: string): string | undefined {
  let at = skipSpace(json, 0) + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] !== '"') return undefined
    const nameEnd = skipValue(json, at)
    const found = JSON.parse(json.slice(at, nameEnd)) as string
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1)
    const end = skipValue(json, start)
    if (found === name) return json.slice(start, end)
    at = skipSpace(json, end)
    if (json[at] !== ',') return undefined
    at += 1
  }
}

function skipSpace(json: string, from: number): number {
  let at = from
  while (at < json.length && ' \t\r\n'.includes(json.charAt(at))) at += 1
  return at
}

/** The position after the value that begins here. */
function skipValue(json: string, from: number): number {
  let at = from
  let depth = 0
  do {
    const character = json.charAt(at)
    if (character === '"') {
      at = skipString(json, at)
      continue
    }
    if ('{['.includes(character)) depth += 1
    else if ('}]'.includes(character)) depth -= 1
    else if (depth === 0) return skipWord(json, at)
    at += 1
  } while (depth > 0 && at < json.length)
  return at
}

function skipString(json: string, from: number): number {
  let at = from + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** A number, true, false or null. */
function skipWord(json: string, from: number): number {
  let at = from
  while (at < json.length && !' \t\r\n,]}'.includes(json.charAt(at))) at += 1
  return at
}
