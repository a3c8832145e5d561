/**
 * Characters that change how their neighbours are shown, or show nothing: in a list or a payload they are told by their
 * numbers, so that nobody is misled by the order of what they read.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

export function showText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
