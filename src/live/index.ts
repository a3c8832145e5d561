export type { Attention } from './list-attention.js'
export { type Snapshot, watchSystem } from './watch-system.js'
