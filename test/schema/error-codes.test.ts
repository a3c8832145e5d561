import { expect, it } from 'vitest'
import { errorCatalogue } from '../../src/errors/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

/** Keys that a caller cannot hit: their values come from sequences, or there is one row for good. */
const without = [
  /_pkey$/,
  /^(subscription_version|partition_settings)_/,
  /^(event_keys_fingerprint_sha256|ended_sessions_id)$/,
]

it('[O7] every guard, check and unique key of the schema has a code in the catalogue, and every name there exists', async () => {
  const { rows } = await database.pool.query(
    `SELECT conname AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
     WHERE pg_class.relnamespace = 'sagapost'::regnamespace AND NOT relispartition AND contype IN ('c', 'u', 'p', 'f')
     UNION
     SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
     WHERE relnamespace = 'sagapost'::regnamespace AND indisunique AND NOT relispartition
     UNION
     SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE relnamespace = 'sagapost'::regnamespace AND NOT tgisinternal AND NOT relispartition
       AND prosrc LIKE '%RAISE%' AND proname NOT LIKE 'refuse_saga_event%'
     UNION
     SELECT (regexp_matches(prosrc, 'CONSTRAINT = ''(\\w+)''', 'g'))[1] FROM pg_proc
     WHERE pronamespace = 'sagapost'::regnamespace`,
  )
  const inDatabase = rows
    .map(({ name }) => name as string)
    .filter((name) => !without.some((skip) => skip.test(name)))
  const inCatalogue = Object.values(errorCatalogue).flatMap((entry) =>
    'constraints' in entry ? [...entry.constraints] : [],
  )
  expect(inCatalogue.sort()).toEqual(inDatabase.sort())
})
