-- The clock every decision rests on (DESIGN 2.7), and one role per part.

-- A worker's clock decides nothing: leases and schedules use the database's. SQL calls sagapost.now() and
-- never now(), so that the tests' template database can move time. Inlined by the planner: it costs nothing.
CREATE FUNCTION sagapost.now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.now();

-- Roles belong to the cluster, not to the database: a second database, or a second run, finds them there.
-- Whoever migrates must be able to SET ROLE to each of them, since every part's connections run under its role.
DO $$
DECLARE
  part text;
  may_set text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
  FOREACH part IN ARRAY ARRAY[
    'event_publisher', 'event_ingest_writer', 'router_worker', 'saga_orchestrator', 'job_worker', 'dead_letter_operator',
    'subscription_admin', 'api_key_admin', 'schema_maintainer', 'saga_app_role', 'saga_readonly_role'
  ] LOOP
    -- Another database of this cluster may be migrated at the same moment: whoever loses finds the role there.
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
