-- A revoked API key stays revoked, for the owner as well: the row keeps the time, and the hash under which no other key is
-- made. Its name and its last use are no part of that; servers note the use of a key up to a minute after it.
CREATE TRIGGER api_key_stays_revoked
  BEFORE UPDATE ON sagapost.api_keys
  FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL AND
    (OLD.id, OLD.scope, OLD.key_hash, OLD.revoked_at) IS DISTINCT FROM
    (NEW.id, NEW.scope, NEW.key_hash, NEW.revoked_at))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a revoked API key stays revoked');
ALTER TABLE sagapost.api_keys ENABLE ALWAYS TRIGGER api_key_stays_revoked;

CREATE TRIGGER api_key_revoked_is_kept
  BEFORE DELETE ON sagapost.api_keys
  FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL)
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a revoked API key is kept, so that it is not made again');
ALTER TABLE sagapost.api_keys ENABLE ALWAYS TRIGGER api_key_revoked_is_kept;

CREATE TRIGGER api_keys_truncate_is_refused
  BEFORE TRUNCATE ON sagapost.api_keys
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP003', 'revoked API keys are kept, so that they are not made again');
ALTER TABLE sagapost.api_keys ENABLE ALWAYS TRIGGER api_keys_truncate_is_refused;
