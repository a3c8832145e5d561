/** The part `sagas` as an application runs it: embedded, with definitions of its own beside Sagapost's. */
import { defineSagas } from '../load/define-sagas.js'
import { loadBuilt } from '../load/load-built.js'

const { Sagapost, saga, NonRetryableError } = await loadBuilt.face()
const { createLog } = await loadBuilt.observability()

const sagapost = new Sagapost({
  databaseUrl: process.env['DATABASE_URL'] ?? '',
  parts: ['sagas'],
  sagas: [defineSagas({ saga, NonRetryableError })],
  sagaLeaseDuration: process.env['FAULTS_SAGA_LEASE'] ?? '5s',
  log: createLog({ level: 'info' }),
})
process.once('SIGTERM', () => void sagapost.stop().then(() => process.exit(0)))
await sagapost.start()
console.log(JSON.stringify({ msg: 'serving' }))
