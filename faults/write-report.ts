/** `npm run faults:report`: docs/internals/fault-report.md from the results in faults/results. */
import { writeFileSync } from 'node:fs'
import { drawFaultReport } from './report/draw-fault-report.js'
import { readResults } from './report/read-results.js'

const results = readResults(new URL('results/', import.meta.url))
writeFileSync(new URL('../docs/internals/fault-report.md', import.meta.url), drawFaultReport(results))
