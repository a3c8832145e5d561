import pc from 'picocolors'

/** Text with a colour, which does not count towards its width. */
export interface Cell {
  text: string
  paint?: (text: string) => string
}

export type Row = readonly (string | Cell)[]

const CELL_CHARACTERS_MAX = 80
const GAP = '  '

/**
 * Writes rows in aligned columns, page by page. The first page has the titles and sets the column widths. No line is
 * longer than `widthMax`; the last columns shrink.
 */
export function createTable(titles: readonly string[], widthMax: number = terminalWidth()) {
  let widths: number[] | undefined

  const formatLine = (cells: readonly Cell[]): string => {
    let left = widthMax
    const parts: string[] = []
    for (const [column, { text, paint = same }] of cells.entries()) {
      if (left <= 0) break
      const shown = cut(text, left)
      const isLast = column === cells.length - 1
      const width = isLast ? 0 : Math.min(widths?.[column] ?? 0, left)
      parts.push(paint(shown) + ' '.repeat(Math.max(0, width - lengthOf(shown))))
      left -= Math.max(width, lengthOf(shown)) + GAP.length
    }
    return parts.join(GAP).trimEnd()
  }

  return (rows: readonly Row[]): string => {
    const cells = rows.map((row) => row.map((value) => shorten(toCell(value))))
    if (widths !== undefined) return cells.map(formatLine).join('\n')
    widths = titles.map((title, column) =>
      Math.max(title.length, ...cells.map((row) => lengthOf(row[column]?.text ?? ''))),
    )
    return [titles.map((text) => ({ text, paint: pc.dim })), ...cells].map(formatLine).join('\n')
  }
}

/** Names and values in two columns. */
export function formatFields(fields: readonly (readonly [name: string, value: string | Cell])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(([name, value]) => {
      const { text, paint = same } = toCell(value)
      return `${pc.dim(name.padEnd(width))}${GAP}${paint(text)}`
    })
    .join('\n')
}

/**
 * Untrusted text for a terminal: characters that move the cursor, set colours or change the text direction are
 * escaped.
 */
export function makeVisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}

function toCell(value: string | Cell): Cell {
  const cell = typeof value === 'string' ? { text: value } : value
  return { ...cell, text: makeVisible(cell.text) }
}

function shorten(cell: Cell): Cell {
  return { ...cell, text: cut(cell.text, CELL_CHARACTERS_MAX) }
}

function cut(text: string, charactersMax: number): string {
  const characters = [...text]
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 1).join('')}…`
}

function lengthOf(text: string): number {
  return [...text].length
}

function same(text: string): string {
  return text
}

/** In a pipe, only very long cells are truncated. */
function terminalWidth(): number {
  return (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY
}
