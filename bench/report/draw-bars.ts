export interface Bar {
  label: string
  value: number
  min?: number
  max?: number
}

const WIDTH = 720
const LABEL_WIDTH = 190
const VALUE_WIDTH = 150
const ROW_HEIGHT = 34
const TOP = 56

/** Horizontal bars, with a line from the least to the most where they are given, as an SVG of its own. */
export function drawBars(title: string, unit: string, bars: readonly Bar[], digits = 0): string {
  const most = Math.max(...bars.map(({ value, max }) => max ?? value), Number.EPSILON)
  const scale = (value: number) => (value / most) * (WIDTH - LABEL_WIDTH - VALUE_WIDTH)
  const height = TOP + bars.length * ROW_HEIGHT + 16
  const rows = bars.map(({ label, value, min, max }, index) => {
    const y = TOP + index * ROW_HEIGHT
    const middle = y + ROW_HEIGHT / 2
    const spread = min !== undefined && max !== undefined
    const end = LABEL_WIDTH + scale(max ?? value)
    return `
  <text x="${LABEL_WIDTH - 10}" y="${middle + 4}" text-anchor="end">${escapeText(label)}</text>
  <rect x="${LABEL_WIDTH}" y="${y + 6}" width="${scale(value).toFixed(1)}" height="${ROW_HEIGHT - 12}" fill="${label.startsWith('Sagapost') ? '#2f6fde' : '#9aa7b8'}"/>${
    spread
      ? `
  <path d="M${(LABEL_WIDTH + scale(min)).toFixed(1)} ${middle}H${end.toFixed(1)}" stroke="#1c2430" stroke-width="1.5"/>`
      : ''
  }
  <text x="${(end + 8).toFixed(1)}" y="${middle + 4}">${value.toFixed(digits)}${
    spread ? ` (${min.toFixed(digits)}–${max.toFixed(digits)})` : ''
  }</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#1c2430">
  <rect width="100%" height="100%" fill="#fff"/>
  <text x="16" y="26" font-size="16" font-weight="600">${escapeText(title)}</text>
  <text x="16" y="44" fill="#5b6675">${escapeText(unit)}</text>${rows.join('')}
</svg>
`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
