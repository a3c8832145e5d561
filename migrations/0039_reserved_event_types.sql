-- Event types that begin with saga. or sagapost. are Sagapost's own: a receiver can rely on who says that a saga has ended.
-- The functions that publish for others run as the owner like the one that publishes for sagas, so that the stack of calls
-- tells them apart. A mark on the functions (SET sagapost.…) takes a superuser, which the owner of a schema seldom is.

-- The owner may, outside these functions: the life-cycle events of sagas, and a restore of the data. A full restore makes
-- triggers after the rows in any case. Not SECURITY DEFINER, so that current_user is the role that inserts.
CREATE FUNCTION sagapost.refuse_reserved_type() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  calls text;
BEGIN
  GET DIAGNOSTICS calls = PG_CONTEXT;
  -- By the types of their arguments: the stack has the texts of statements as well, which may call several.
  IF calls ~ 'sagapost\.publish(_batch|_awaited_events)?\((text|text\[\]|jsonb)[,)]' OR NOT pg_has_role(current_user, (
    SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
      MESSAGE = format('the event type %L begins with saga. or sagapost., which are Sagapost''s own', NEW.event_type),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION sagapost.refuse_reserved_type() FROM PUBLIC;

CREATE TRIGGER event_type_is_reserved
  BEFORE INSERT ON sagapost.events
  FOR EACH ROW WHEN (starts_with(NEW.event_type, 'saga.') OR starts_with(NEW.event_type, 'sagapost.'))
  EXECUTE FUNCTION sagapost.refuse_reserved_type();
ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_type_is_reserved;
