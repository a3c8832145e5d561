import { deliveryErrorCodes } from '../../webhook/index.js'

/** Stands for whatever is not in a closed list, so that no label can grow without end. */
const OTHER = 'other'

const HTTP_STATUS_MIN = 100
const HTTP_STATUS_MAX = 599
/** The closed list without `http_<status>`, which stands for one code per status. */
export const namedErrorCodes = Object.keys(deliveryErrorCodes).filter((code) => code !== 'http_<status>')
const named: ReadonlySet<string> = new Set(namedErrorCodes)
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A code of the closed list as it is; `http_<status>` only with a status that HTTP defines. */
export function errorCodeLabel(errorCode: string | null): string {
  if (errorCode === null) return OTHER
  if (named.has(errorCode)) return errorCode
  const status = /^http_(\d{3})$/.exec(errorCode)?.[1]
  if (status !== undefined) return isHttpStatus(Number(status)) ? errorCode : 'http_other'
  return errorCode.startsWith('http_') ? 'http_other' : OTHER
}

export function statusLabel(status: number): string {
  return isHttpStatus(status) ? String(status) : OTHER
}

export function methodLabel(method: string): string {
  return methods.has(method) ? method : OTHER
}

/** The template of the route, `/v1/events/:id`; a request that met no route has none. */
export function routeLabel(route: string | undefined): string {
  return route ?? 'unmatched'
}

function isHttpStatus(status: number): boolean {
  return Number.isInteger(status) && status >= HTTP_STATUS_MIN && status <= HTTP_STATUS_MAX
}
