-- What a coordinator of general sagas needs [G14]: whose turn it is (lease and fencing), when it is (wake-up and
-- deadline), which definition, which key, who asked to cancel; and the guards of the two state machines, which
-- src/state-machines/ has as data. docs/reference/saga-states.md is the reader's page.

ALTER TABLE sagapost.saga_instances
  ADD COLUMN definition_version  integer      NOT NULL DEFAULT 1,
  ADD COLUMN idempotency_key     varchar(255),
  -- When somebody may claim it next: at once, at the time of a retry, or when the lease that holds it ends.
  ADD COLUMN wake_at             timestamptz  DEFAULT sagapost.now(),
  ADD COLUMN deadline_at         timestamptz,
  ADD COLUMN lease_owner         varchar(255),
  ADD COLUMN lease_until         timestamptz,
  -- The fencing token: one higher with every claim and every write of the holder.
  ADD COLUMN version             bigint       NOT NULL DEFAULT 0,
  -- The sequence of its last event. Whoever writes an event holds the row, so that no number is missing or double.
  ADD COLUMN event_count         integer      NOT NULL DEFAULT 0,
  ADD COLUMN cancel_requested_at timestamptz,
  ADD COLUMN cancel_requested_by varchar(255),
  ADD COLUMN cancel_reason       text,
  ADD CONSTRAINT saga_instances_definition_version_positive CHECK (definition_version >= 1),
  ADD CONSTRAINT saga_instances_idempotency_key_length CHECK (idempotency_key <> ''),
  ADD CONSTRAINT saga_instances_lease_whole CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
  ADD CONSTRAINT saga_instances_lease_is_unfinished CHECK (lease_owner IS NULL OR state IN (0, 1, 2, 4)),
  ADD CONSTRAINT saga_instances_version_not_negative CHECK (version >= 0 AND event_count >= 0),
  ADD CONSTRAINT saga_instances_cancel_whole
    CHECK (cancel_requested_at IS NOT NULL OR (cancel_requested_by IS NULL AND cancel_reason IS NULL));

ALTER TABLE sagapost.saga_events
  ADD COLUMN sequence integer,
  ADD CONSTRAINT saga_events_sequence_positive CHECK (sequence >= 1);

-- Starting again with the same key finds the saga that the first start made.
CREATE UNIQUE INDEX uniq_saga_idempotency_key ON sagapost.saga_instances (definition_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- Claims: what is due of one version of one definition, longest waiting first. Sagas of definitions that a process does
-- not have cost it nothing. `wake_at IS NOT NULL` keeps it from pattern 1 (see 0007).
CREATE INDEX idx_saga_runnable ON sagapost.saga_instances (definition_id, definition_version, wake_at)
  WHERE state IN (0, 1, 2, 4) AND wake_at IS NOT NULL;

-- Sagas that have a deadline and can still miss it.
CREATE INDEX idx_saga_deadline ON sagapost.saga_instances (deadline_at)
  WHERE state IN (0, 1, 2) AND deadline_at IS NOT NULL;

-- Sagas that wait for an operator: few, and nothing else finds them among the finished.
CREATE INDEX idx_saga_awaiting_operator ON sagapost.saga_instances (updated_at) WHERE awaiting_operator;

-- Guards, as in 0005 ---------------------------------------------------------------------------------------

-- One that is held from its first moment on has its first step's intent written with it.
CREATE TRIGGER saga_instance_begins_pending
  BEFORE INSERT ON sagapost.saga_instances
  FOR EACH ROW WHEN (NOT (NEW.state = 0 OR (NEW.state = 1 AND NEW.lease_owner IS NOT NULL)))
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a saga begins as Pending, or held and Running');

-- The moves of src/state-machines/saga-machine.ts. An update that keeps the state is no move. The fencing token and
-- the number of events never go back.
CREATE TRIGGER saga_instance_moves_legally
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW WHEN (
    NOT (OLD.state IN (3, 5, 7, 8) OR (OLD.state = 6 AND NOT OLD.awaiting_operator))
    AND NOT (
      NEW.version >= OLD.version AND NEW.event_count >= OLD.event_count
      AND (
        NEW.state = OLD.state
        OR (OLD.state = 0 AND NEW.state IN (1, 7, 8))
        OR (OLD.state = 1 AND NEW.state IN (2, 3, 4))
        OR (OLD.state = 2 AND NEW.state IN (1, 4))
        OR (OLD.state = 4 AND NEW.state IN (5, 6, 7, 8))
        OR (OLD.state = 6 AND NEW.state = 4)
      )
    ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a saga');

-- Failed is final once no operator is awaited.
CREATE TRIGGER saga_instance_final_is_frozen
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW WHEN (OLD.state IN (3, 5, 7, 8) OR (OLD.state = 6 AND NOT OLD.awaiting_operator))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a finished saga never changes');

-- Only a statement that names one of these columns can change it; no other pays for the comparison.
CREATE TRIGGER saga_instance_identity_is_frozen
  BEFORE UPDATE OF id, definition_id, definition_version, idempotency_key, total_steps, created_at, initial_data,
    timeout_ms, deadline_at, trace_id, span_id ON sagapost.saga_instances
  FOR EACH ROW WHEN (
    (OLD.id, OLD.definition_id, OLD.definition_version, OLD.idempotency_key, OLD.total_steps, OLD.created_at,
     OLD.initial_data, OLD.timeout_ms, OLD.deadline_at, OLD.trace_id, OLD.span_id)
    IS DISTINCT FROM
    (NEW.id, NEW.definition_id, NEW.definition_version, NEW.idempotency_key, NEW.total_steps, NEW.created_at,
     NEW.initial_data, NEW.timeout_ms, NEW.deadline_at, NEW.trace_id, NEW.span_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a saga is for never changes');

CREATE TRIGGER saga_step_begins_pending
  BEFORE INSERT ON sagapost.saga_steps
  FOR EACH ROW WHEN (NOT (
    (NEW.state = 0 AND NEW.attempts = 0) OR (NEW.state = 1 AND NEW.attempts = 1 AND NEW.step_index = 0)))
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a step begins as Pending with 0 attempts, or the first as Running with 1');

-- The moves of src/state-machines/saga-step-machine.ts. attempts goes up by one when a run begins, and only then.
CREATE TRIGGER saga_step_moves_legally
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state NOT IN (5, 6) AND NOT (
    (NEW.attempts = OLD.attempts AND (
      NEW.state = OLD.state
      OR (OLD.state = 0 AND NEW.state = 6)
      OR (OLD.state = 1 AND NEW.state IN (2, 3))
      OR (OLD.state = 2 AND NEW.state = 4)
      OR (OLD.state = 3 AND NEW.state IN (4, 6))
      OR (OLD.state = 4 AND NEW.state IN (3, 5))))
    OR (NEW.attempts = OLD.attempts + 1 AND OLD.state IN (0, 3) AND NEW.state = 1)
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a step');

CREATE TRIGGER saga_step_final_is_frozen
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state IN (5, 6))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Compensated or Skipped step never changes');

CREATE TRIGGER saga_step_identity_is_frozen
  BEFORE UPDATE OF id, saga_id, step_index, name, created_at ON sagapost.saga_steps
  FOR EACH ROW WHEN (
    (OLD.id, OLD.saga_id, OLD.step_index, OLD.name, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.saga_id, NEW.step_index, NEW.name, NEW.created_at))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a step is for never changes');

ALTER TABLE sagapost.saga_instances
  ENABLE ALWAYS TRIGGER saga_instance_begins_pending,
  ENABLE ALWAYS TRIGGER saga_instance_moves_legally,
  ENABLE ALWAYS TRIGGER saga_instance_final_is_frozen,
  ENABLE ALWAYS TRIGGER saga_instance_identity_is_frozen;
ALTER TABLE sagapost.saga_steps
  ENABLE ALWAYS TRIGGER saga_step_begins_pending,
  ENABLE ALWAYS TRIGGER saga_step_moves_legally,
  ENABLE ALWAYS TRIGGER saga_step_final_is_frozen,
  ENABLE ALWAYS TRIGGER saga_step_identity_is_frozen;

COMMENT ON COLUMN sagapost.saga_instances.definition_version IS
  'The version of its definition that it was started with; a process that lacks it leaves the saga alone';
COMMENT ON COLUMN sagapost.saga_instances.wake_at IS
  'When it may be claimed next: at once, at the time of a retry, or at the end of its lease';
COMMENT ON COLUMN sagapost.saga_instances.version IS
  'Fencing token: one higher with every claim and every write of the lease''s holder; a write with an older one changes nothing';
COMMENT ON COLUMN sagapost.saga_instances.event_count IS 'The sequence of its last event';
COMMENT ON COLUMN sagapost.saga_events.sequence IS 'The place of the event in its saga''s history, from 1, without gaps';
