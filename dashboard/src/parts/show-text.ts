/**
 * Invisible characters and those that change the direction of text are shown by their code points, so that they cannot
 * mislead the reader of a list or a payload.
 */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export function showText(text: string): string {
  return text.replace(HIDDEN, tellNumbers)
}

/** As JSON escapes: a surrogate pair beyond U+FFFF. */
function tellNumbers(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
