import type { Obstacle } from '../database/index.js'
import { explainObstacle, outageOf } from '../database/index.js'
import { type Check, type Finding, finding, isFindingCode } from './finding.js'

const PERMISSION_DENIED = '42501'
const QUERY_CANCELED = '57014'
const TOO_MANY_CONNECTIONS = '53300'

/** Reports the failure of one check, so that the others still run. */
export async function attempt(
  check: Check,
  work: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await work()
  } catch (error) {
    return [explainFailure(check, error)]
  }
}

export function explainFailure(check: Check, error: unknown): Finding {
  const { code = '', message, cause } = error as { code?: string; message: string; cause?: { code?: string } }
  if (code === TOO_MANY_CONNECTIONS || cause?.code === TOO_MANY_CONNECTIONS || isExhausted(message)) {
    return finding(check, 'connections_exhausted', message)
  }
  if (code === PERMISSION_DENIED) return finding(check, 'permission_denied', message)
  const outage = outageOf(error)
  if (code === QUERY_CANCELED || outage === 'database_timed_out') {
    return finding(check, 'check_timed_out', message)
  }
  if (outage) return finding(check, outage, message)
  return finding(check, isFindingCode(code) ? code : 'check_failed', message)
}

/** As the errors of a pool have it, whose cause is only text; pgbouncer says the second. */
function isExhausted(message: string): boolean {
  return /too many (clients|connections)|remaining connection slots|no more connections allowed/.test(message)
}

export function explainAsFinding(check: Check, obstacle: Obstacle): Finding {
  const detail = explainObstacle(obstacle)
  if (isExhausted(detail)) return finding(check, 'connections_exhausted', detail)
  if (/^no answer within/.test(obstacle.cause ?? ''))
    return finding(check, 'check_timed_out', `version and partitions: ${obstacle.cause}`)
  return finding(check, isFindingCode(obstacle.code) ? obstacle.code : 'check_failed', detail)
}
