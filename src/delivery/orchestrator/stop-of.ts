/** Why a delivery ends without another attempt. */
export type Stop = 'subscription_deleted' | 'cancelled'

/**
 * SQL: why no further attempt is made, or null. A deleted subscription and a cancelled delivery reach their limit with
 * the first attempt [S15]. Evaluated only where a delivery has failed.
 */
export const stopOf = (deliveryId: string, isDeleted: string) => `
  CASE WHEN ${isDeleted} THEN 'subscription_deleted'
       WHEN EXISTS (SELECT FROM sagapost.delivery_cancellations WHERE saga_id = ANY (ARRAY[${deliveryId}])) THEN 'cancelled' END`
