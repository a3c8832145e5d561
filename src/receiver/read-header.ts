/** Node's headers, a fetch `Headers`, or a plain record whose names are in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** Undefined when missing, empty or repeated: which of two values was signed is unknown. */
export function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) || undefined
  const value = headers[name] ?? Object.entries(headers).find(([field]) => field.toLowerCase() === name)?.[1]
  return (typeof value === 'string' ? value : value?.length === 1 ? value[0] : undefined) || undefined
}

function isFetchHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function'
}
