// A process that starts an embedded PostgreSQL, says so on one line of JSON, and does as it is told on stdin:
// `stop` ends the server and then itself, `let-go` leaves it with nothing to do. It only reports SIGINT.
// argv: the module to import, the options as JSON.
import { createInterface } from 'node:readline'

process.on('SIGINT', () => console.log('interrupted'))
const [module, options] = process.argv.slice(2)
const { startEmbeddedPostgres } = await import(module)
try {
  const server = await startEmbeddedPostgres(JSON.parse(options))
  const { url, pid, version } = server
  console.log(JSON.stringify({ url, pid, version }))
  createInterface({ input: process.stdin }).on('line', async (line) => {
    if (line === 'let-go') process.stdin.destroy()
    if (line !== 'stop') return
    await server.stop()
    process.exit(0)
  })
} catch (error) {
  console.log(JSON.stringify({ code: error.code, message: error.message }))
  process.exitCode = 1
}
