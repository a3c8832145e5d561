-- What everything else rests on: the clock, one database role for each part, and the refusal that the guards call.

-- Leases and schedules follow the database's clock, never a worker's. SQL calls sagapost.now() instead of now(), so
-- that tests can move time in their own database. The planner inlines the function, so it costs nothing.
CREATE FUNCTION sagapost.now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.now();

-- sagapost.now() is the start of the transaction. A transaction step may outlast a lease: what it writes at its end has
-- to carry the time of the write, or it would set its own lease back. Tests move this clock as well.
CREATE FUNCTION sagapost.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN pg_catalog.clock_timestamp();

-- Roles belong to the cluster, so an earlier run or another database may have created them already. The login that
-- migrates must be able to SET ROLE to each of them, because the connections of a part run under the part's role.
DO $$
DECLARE
  part text;
  may_set text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
  FOREACH part IN ARRAY ARRAY[
    'event_publisher', 'event_ingest_writer', 'router_worker', 'saga_orchestrator', 'job_worker', 'dead_letter_operator',
    'subscription_admin', 'api_key_admin', 'schema_maintainer', 'saga_app_role', 'saga_readonly_role'
  ] LOOP
    -- Another database of this cluster may be migrated at the same moment: one of the two finds the role there.
    BEGIN
      IF to_regrole(part) IS NULL THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', part);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
    BEGIN
      IF NOT pg_has_role(current_user, part, may_set) THEN
        EXECUTE format('GRANT %I TO CURRENT_USER', part);
      END IF;
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
  END LOOP;
END
$$;

-- What a guard does. A guard is a trigger whose WHEN clause is the rule itself, so that a legal write calls no
-- function; ENABLE ALWAYS, so that session_replication_role does not switch it off. The first argument becomes the
-- SQLSTATE and the trigger's name the constraint: the application turns both into an error code.
CREATE FUNCTION sagapost.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = TG_ARGV[0],
    MESSAGE = format('%s (%s %s on %s%s)', TG_ARGV[1], TG_LEVEL, TG_OP, TG_TABLE_NAME,
      CASE WHEN TG_LEVEL <> 'ROW' THEN ''
           WHEN TG_OP = 'INSERT' THEN ' id ' || NEW.id
           ELSE ' id ' || OLD.id END),
    CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$$;
