export { type HttpServer, startHttpServer } from './start-http-server.js'
