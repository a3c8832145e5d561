import { expect, it } from 'vitest'
import { requeueDeadLetters } from '../../../src/built-in-sagas/index.js'
import { storages } from '../storages.js'
import { useCoordinators } from '../use-coordinators.js'
import { runVariedSagas } from '../varied-sagas.js'

/** Notes each column that has ever had a value of its own: not null, and not its constant default. */
const watchColumns = `
  CREATE TABLE public.filled (table_name text, column_name text);
  CREATE FUNCTION public.note_filled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    INSERT INTO public.filled
    SELECT TG_TABLE_NAME, field.key
    FROM jsonb_each_text(to_jsonb(NEW)) AS field
    JOIN information_schema.columns AS known
      ON known.table_schema = 'sagapost' AND known.table_name = TG_TABLE_NAME AND known.column_name = field.key
    WHERE field.value IS DISTINCT FROM known.column_default AND field.value IS NOT NULL;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_filled AFTER INSERT OR UPDATE ON sagapost.saga_instances
    FOR EACH ROW EXECUTE FUNCTION public.note_filled();
  CREATE TRIGGER note_filled AFTER INSERT OR UPDATE ON sagapost.saga_steps
    FOR EACH ROW EXECUTE FUNCTION public.note_filled();
  CREATE TRIGGER note_filled AFTER INSERT OR UPDATE ON sagapost.saga_events
    FOR EACH ROW EXECUTE FUNCTION public.note_filled()`

const selectEmptyColumns = `
  SELECT table_name || '.' || column_name AS empty FROM information_schema.columns
  WHERE table_schema = 'sagapost' AND table_name IN ('saga_instances', 'saga_steps', 'saga_events')
    AND (table_name, column_name) NOT IN (SELECT table_name, column_name FROM public.filled)
  ORDER BY 1`

const selectWithoutMeaning = `
  SELECT attrelid::regclass || '.' || attname AS nameless FROM pg_attribute
  WHERE attrelid IN ('sagapost.saga_instances'::regclass, 'sagapost.saga_steps'::regclass, 'sagapost.saga_events'::regclass)
    AND attnum > 0 AND NOT attisdropped AND col_description(attrelid, attnum) IS NULL
  ORDER BY 1`

const under = storages['postgres']?.() as ReturnType<NonNullable<(typeof storages)[string]>>
const coordinators = useCoordinators(under)
const list = async (text: string) => (await under.pool?.query(text))?.rows.flatMap(Object.values)

it('[G1, G2, G3] every column of the tables of sagas is written by sagas that run', async () => {
  await under.pool?.query(watchColumns)
  await runVariedSagas(under, coordinators)
  // `progress` is for steps of Sagapost's own.
  await requeueDeadLetters(under.pool as NonNullable<typeof under.pool>, { all: true })
  expect(await list(selectEmptyColumns)).toEqual([])
})

it('[G1, G2, G3] every column of the tables of sagas has a comment in the schema', async () => {
  expect(await list(selectWithoutMeaning)).toEqual([])
})
