/**
 * Characters that change how their neighbours are shown, or show nothing: in a list or a payload they are told by their
 * numbers, so that nobody is misled by the order of what they read.
 */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export function showText(text: string): string {
  return text.replace(HIDDEN, tellNumbers)
}

/** As JSON writes them: two numbers for those beyond the first 65,536. */
function tellNumbers(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
