export { type HttpServer, startApi, startStateServer } from './server/index.js'
