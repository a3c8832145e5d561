import type { ResolvConf } from './parse-resolv-conf.js'

/** The names that are asked for one after the other, as the C library does. With the root's dot a name is only itself. */
export function listCandidates(
  name: string,
  { search, ndots }: Pick<ResolvConf, 'search' | 'ndots'>,
): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const searched = search.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots >= ndots ? [name, ...searched] : [...searched, name]
}
