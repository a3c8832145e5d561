-- What the lists of the API read by, each index in the order of its list. docs/internals/decisions.md has their price.

-- Dead letters are rare, and no index of theirs is on the way of a delivery that succeeds.
CREATE INDEX idx_dead_failed ON sagapost.dead_letters (failed_at, id);
CREATE INDEX idx_dead_subscription ON sagapost.dead_letters (subscription_id, failed_at, id);
CREATE INDEX idx_dead_error ON sagapost.dead_letters (final_error_code, failed_at, id);
CREATE INDEX idx_dead_type ON sagapost.dead_letters (event_type, failed_at, id);

-- The deliveries of one subscription: the one index here that every delivery pays for.
CREATE INDEX idx_saga_subscription ON sagapost.webhook_delivery_sagas (subscription_id, id);
-- The deliveries that failed, of all subscriptions and of one: a delivery that succeeds at once pays nothing.
CREATE INDEX idx_saga_failing ON sagapost.webhook_delivery_sagas (status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
CREATE INDEX idx_saga_failing_subscription ON sagapost.webhook_delivery_sagas (subscription_id, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');

SELECT sagapost.name_partition_indexes();
