import { startRouter } from '../delivery/index.js'
import { keepEventMinutes } from '../observability/index.js'
import type { PartContext } from './part-context.js'

/** The router, under its role [R4]. */
export function startRouterPart({ log, metrics, wakeups, stops, openPool, onError }: PartContext): void {
  const pool = openPool('router_worker', 2)
  const counter = keepEventMinutes({ pool, onError: onError('statistics', 'counting events') })
  stops.add('records', 'statistics', () => counter.stop())
  const router = startRouter({ pool, wakeups, log, metrics, counter })
  stops.add('work', 'router', () => router.stop())
}
