// Preloaded into every process of the harness. It stops as by SIGTERM when the harness is gone, however that ended, and
// is killed when that takes long. SIGUSR2 sets its clock: by so many milliseconds as stand in the file FAULTS_CLOCK_FILE.
import { readFileSync } from 'node:fs'

const STOP_MS_MAX = 40_000

process.on('disconnect', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_MS_MAX)
  process.kill(process.pid, 'SIGTERM')
})
process.channel?.unref()

const RealDate = Date
let skewMs = 0
process.on('SIGUSR2', () => {
  skewMs = Number(readFileSync(process.env.FAULTS_CLOCK_FILE, 'utf8'))
})
const now = () => RealDate.now() + skewMs
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
