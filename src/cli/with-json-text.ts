/** The object as JSON with one more field that is JSON text already: a payload is shown as it was published. */
export function withJsonText(object: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:${json}}`
}
