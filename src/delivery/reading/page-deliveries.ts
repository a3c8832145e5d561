import type pg from 'pg'
import { encodeCursor, type Page, type PagePosition, toPage } from '../../database/index.js'
import { type Delivery, type DeliveryRow, toDelivery } from './delivery.js'
import { readWebhookIds } from './read-webhook-ids.js'
import type { Found } from './walk-deliveries.js'

/**
 * A page of the rows read, with the webhook ids of their events. The ids come from a statement of their own, since each
 * list has its own query; events never change, so the two agree.
 */
export async function pageDeliveries(
  pool: pg.Pool,
  rows: readonly DeliveryRow[],
  rowsRead: number,
  positionOf: (row: DeliveryRow) => PagePosition,
): Promise<Page<Delivery>> {
  const webhookIds = await readWebhookIds(
    pool,
    rows.map(({ event_id }) => event_id),
  )
  return toPage(rows, rowsRead, (row) => toDelivery(row, webhookIds.get(row.event_id) ?? null), positionOf)
}

/** The same for a list by id. When the search stopped before the page was full, the next page continues there. */
export async function pageFound(
  pool: pg.Pool,
  { rows, examinedTo }: Found,
  rowsRead: number,
): Promise<Page<Delivery>> {
  const page = await pageDeliveries(pool, rows, rowsRead, ({ id }) => ({ id }))
  if (page.nextCursor !== null || examinedTo === null) return page
  return { ...page, nextCursor: encodeCursor({ id: examinedTo }) }
}
