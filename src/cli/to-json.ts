/** The value as JSON that is safe to show on a terminal, for --json. */
export function toJson(value: unknown): string {
  return escapeControls(JSON.stringify(value))
}

/** The object as JSON with an additional field of JSON text, so that a payload keeps its numbers and its order. */
export function withJsonText(object: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${toJson(object).slice(0, -1)},${JSON.stringify(name)}:${escapeControls(json)}}`
}

/**
 * JSON escapes only the control characters below U+0020. The others could move a terminal's cursor or change the text
 * direction; escaped, they mean the same to a parser. A carriage return can only occur between tokens.
 */
function escapeControls(json: string): string {
  return json.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '\n' || character === '\t') return character
    if (character === '\r') return ' '
    return Array.from({ length: character.length }, (_, unit) => escapeUnit(character.charCodeAt(unit))).join(
      '',
    )
  })
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
