export { startHttpServer } from './start-http-server.js'
