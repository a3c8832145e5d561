-- Sessions of the dashboard that were signed out before their time. A session itself is a sealed cookie and is stored nowhere;
-- this is what makes a copy of a cookie worthless once its owner has signed out. Rows leave when the cookie has expired.
CREATE TABLE sagapost.ended_sessions (
  session_id bytea       NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT ended_sessions_pkey PRIMARY KEY (session_id),
  CONSTRAINT ended_sessions_id CHECK (octet_length(session_id) = 16)
);

GRANT SELECT, INSERT, DELETE ON sagapost.ended_sessions TO api_key_admin;
