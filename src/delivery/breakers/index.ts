export { type Breakers, createBreakers } from './breakers.js'
export { type BreakerPolicy, defaultBreakerPolicy } from './note-outcomes.js'
export { type Breaker, readBreakers } from './read-breakers.js'
export type { Standing } from './standing.js'
