-- Events [E1], their keys [E3] and the routing queue [R1].

-- Partitioned by ranges of the event id from the start, like the other three tables that only grow: rows are
-- never deleted one by one, so retention is DETACH and DROP. Partitions are made by 0006.
CREATE SEQUENCE sagapost.events_id_seq;

CREATE TABLE sagapost.events (
  id             bigint       NOT NULL DEFAULT nextval('sagapost.events_id_seq'),
  event_type     varchar(100) NOT NULL,
  created_at     timestamptz  NOT NULL DEFAULT sagapost.now(),
  -- json, not jsonb: the bytes that came in are the bytes that are signed and sent (DESIGN 2.10).
  payload        json         NOT NULL,
  correlation_id varchar(255),
  traceparent    varchar(128),
  CONSTRAINT events_pkey PRIMARY KEY (id),
  CONSTRAINT events_event_type_format CHECK (event_type ~ '^[A-Za-z0-9_.-]+$')
) PARTITION BY RANGE (id);

ALTER SEQUENCE sagapost.events_id_seq OWNED BY sagapost.events.id;

CREATE INDEX idx_event_created ON sagapost.events (created_at);
CREATE INDEX idx_event_type ON sagapost.events (event_type, created_at);

-- One row per idempotency key. A key is a duplicate for as long as its row is there: rows older than the
-- deduplication window are removed by expire_event_keys. The fingerprint tells a repeated event from another
-- event under the same key, also after the event's partition is gone.
CREATE TABLE sagapost.event_keys (
  -- text, not varchar(255): an assignment to varchar cuts spaces off the end without a word.
  key         text        NOT NULL,
  event_id    bigint      NOT NULL,
  fingerprint bytea       NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT event_keys_pkey PRIMARY KEY (key),
  CONSTRAINT event_keys_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
  CONSTRAINT event_keys_fingerprint_sha256 CHECK (octet_length(fingerprint) = 32)
);

-- Rows come in by time and leave by time: a BRIN index serves that at next to no cost per insert.
CREATE INDEX idx_event_keys_created ON sagapost.event_keys USING brin (created_at)
  WITH (pages_per_range = 16, autosummarize = on);

-- Stored events that are not routed yet. A queue and not an id cursor: ids commit out of order, and a cursor
-- skips the late ones [R1].
CREATE TABLE sagapost.event_routing_queue (
  event_id       bigint       NOT NULL,
  event_type     varchar(100) NOT NULL,
  correlation_id varchar(255),
  enqueued_at    timestamptz  NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT event_routing_queue_pkey PRIMARY KEY (event_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Fills the queue for every statement that stores events, a plain INSERT included. Partitions get the trigger
-- as well (0006), for rows that are put into them directly.
CREATE FUNCTION sagapost.enqueue_routing() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO sagapost.event_routing_queue (event_id, event_type, correlation_id)
  SELECT id, event_type, correlation_id FROM stored;
  RETURN NULL;
END
$$;

CREATE TRIGGER event_enqueue_routing
  AFTER INSERT ON sagapost.events
  REFERENCING NEW TABLE AS stored
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing();
ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_enqueue_routing;
