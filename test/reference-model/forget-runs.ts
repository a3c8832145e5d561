import type pg from 'pg'

// As a superuser who may: the guards of TRUNCATE are put aside for the one transaction.
const forgetAll = `
  DO $$
  DECLARE
    guarded record;
  BEGIN
    FOR guarded IN
      SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE tgname = 'truncate_is_refused' AND relnamespace = 'sagapost'::regnamespace
    LOOP
      EXECUTE format('ALTER TABLE sagapost.%I DISABLE TRIGGER truncate_is_refused', guarded.relname);
    END LOOP;
    TRUNCATE sagapost.events, sagapost.webhook_delivery_sagas, sagapost.webhook_delivery_jobs, sagapost.dead_letters,
      sagapost.event_routing_queue, sagapost.delivery_result_queue, sagapost.event_keys, sagapost.subscriptions,
      sagapost.subscription_switches, sagapost.delivery_cancellations CASCADE;
    FOR guarded IN
      SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE tgname = 'truncate_is_refused' AND relnamespace = 'sagapost'::regnamespace
    LOOP
      EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', guarded.relname);
    END LOOP;
  END
  $$`

/** The database as it was before the first run; ids go on from where they are. */
export async function forgetRuns(owner: pg.Pool): Promise<void> {
  await owner.query(forgetAll)
}
