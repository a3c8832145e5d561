export { startApi } from './start-api.js'
export type { HttpServer } from './start-http-server.js'
export { startStateServer } from './start-state-server.js'
