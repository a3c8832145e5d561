export { cancelDelivery } from './cancel-delivery.js'
export type { Attempt, Delivery } from './delivery.js'
export { getDelivery } from './get-delivery.js'
export { type DeliveryFilter, listDeliveries } from './list-deliveries.js'
