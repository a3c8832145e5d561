export { compareSchema, compareWithin } from './compare-schema.js'
export type { Difference, DifferenceCode } from './difference.js'
