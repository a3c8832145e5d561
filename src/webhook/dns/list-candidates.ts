import type { ResolvConf } from './parse-resolv-conf.js'

/** The names to query in turn, as in the C library. A name with the root's dot is only queried as it is. */
export function listCandidates(
  name: string,
  { search, ndots }: Pick<ResolvConf, 'search' | 'ndots'>,
): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const searched = search.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots >= ndots ? [name, ...searched] : [...searched, name]
}
