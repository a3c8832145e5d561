-- Less to write for every delivery: docs/internals/decisions.md has the price.

-- The deliveries of one subscription that are Completed, newest first: one entry for a delivery instead of one for each
-- of its three statuses. The others have ways of their own (src/deliveries/list-deliveries-of-subscription.ts). Dropped
-- first, which takes the lock that building needs at once: nobody reads or writes deliveries until it is built.
DROP INDEX sagapost.idx_saga_subscription;
CREATE INDEX idx_saga_subscription ON sagapost.webhook_delivery_sagas (subscription_id, id) WHERE status = 'Completed';

SELECT sagapost.name_partition_indexes();
