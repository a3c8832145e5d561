export { createNameResolver, isLocalhost, type NameResolverOptions } from './name-resolver.js'
export type { ResolvedAddress } from './resolved-address.js'
