const INDENT = '  '
/** Deeper levels are not indented further. */
const DEPTH_SHOWN_MAX = 60

/**
 * Formats JSON text by its tokens, without parsing values, so that 1e400, long numbers and repeated names stay as they
 * were published.
 */
export function formatJson(json: string): string {
  let depth = 0
  let out = ''
  const newLine = () => `\n${INDENT.repeat(Math.min(depth, DEPTH_SHOWN_MAX))}`
  const tokens = json.match(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  for (const [index, token] of tokens.entries()) {
    const isEmpty =
      (token === '{' && tokens[index + 1] === '}') || (token === '[' && tokens[index + 1] === ']')
    if (token === '{' || token === '[') {
      depth += 1
      out += isEmpty ? token : token + newLine()
    } else if (token === '}' || token === ']') {
      depth -= 1
      const wasEmpty = tokens[index - 1] === '{' || tokens[index - 1] === '['
      out += wasEmpty ? token : newLine() + token
    } else if (token === ',') out += token + newLine()
    else if (token === ':') out += ': '
    else out += token
  }
  return out
}
