export { compareSchema } from './compare-schema.js'
export type { Difference } from './difference.js'
