-- Idempotency keys of requests that make a secret [O8]: a new subscription, a rotation. One row is claimed in the same
-- transaction as the work, so a second request with the key waits for the first, and then gets its answer again. The
-- secret itself is not kept here: the row names it, and it is opened from its ciphertext.
CREATE TABLE sagapost.request_keys (
  key                 text        NOT NULL,
  -- Over the operation and its input: the same key with another request is refused.
  fingerprint         bytea       NOT NULL,
  created_at          timestamptz NOT NULL DEFAULT sagapost.now(),
  -- The answer. Null only inside the transaction that claims the key.
  secret_id           bigint,
  previous_expires_at timestamptz,
  CONSTRAINT request_keys_pkey PRIMARY KEY (key),
  CONSTRAINT request_keys_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
  CONSTRAINT request_keys_fingerprint_sha256 CHECK (octet_length(fingerprint) = 32),
  CONSTRAINT fk_request_keys_secret FOREIGN KEY (secret_id) REFERENCES sagapost.subscription_secrets (id) ON DELETE CASCADE
);

REVOKE ALL ON sagapost.request_keys FROM PUBLIC;
GRANT SELECT, INSERT (key, fingerprint), UPDATE (secret_id, previous_expires_at) ON sagapost.request_keys
  TO subscription_admin;
