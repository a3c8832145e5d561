import { isIP } from 'node:net'
import { isLocalhost } from './dns/index.js'
import { createAddressGuard } from './guard-addresses.js'
import { hostOf, parseCallbackUrl } from './parse-callback-url.js'

interface CallbackUrlRefusal {
  code: 'callback_url_invalid' | 'callback_url_not_https' | 'callback_url_blocked'
  detail: string
}

/** Checks at registration what can be known without a lookup or a connection; null when the URL is acceptable [U3]. */
export function refuseCallbackUrl(text: string, allowedCidrs: readonly string[]): CallbackUrlRefusal | null {
  const url = parseCallbackUrl(text)
  if (!(url instanceof URL)) return url
  const host = hostOf(url)
  const guard = createAddressGuard(allowedCidrs)
  if (isIP(host) && !guard.permits(host)) {
    return { code: 'callback_url_blocked', detail: `${host} is not a public address that callbacks may use` }
  }
  if (isLocalhost(host) && !guard.permits('127.0.0.1') && !guard.permits('::1')) {
    return { code: 'callback_url_blocked', detail: `${host} is this machine` }
  }
  return null
}
