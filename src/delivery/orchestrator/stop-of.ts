/** Nothing more is to be sent: this is how the delivery ends. */
export type Stop = 'subscription_deleted' | 'cancelled'

/**
 * SQL: why nothing more is sent of a delivery, or null. The limit of a deleted subscription is reached with the first
 * attempt, that of a cancelled delivery as well [S15]. Asked where a delivery has failed, and nowhere else.
 */
export const stopOf = (deliveryId: string, isDeleted: string) => `
  CASE WHEN ${isDeleted} THEN 'subscription_deleted'
       WHEN EXISTS (SELECT FROM sagapost.delivery_cancellations WHERE saga_id = ANY (ARRAY[${deliveryId}])) THEN 'cancelled' END`
