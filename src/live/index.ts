export type { Attention } from './list-attention.js'
export { type Snapshot, type SystemWatch, watchSystem } from './watch-system.js'
