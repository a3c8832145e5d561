import pg from 'pg'

/**
 * Puts a clock that tests can move in the place of sagapost.now() and sagapost.clock(), for all sessions of the database at once
 * [O3]: time is moved, never waited for.
 */
export async function installClock(pool: pg.Pool): Promise<void> {
  await pool.query(`
    CREATE SCHEMA test_clock;
    CREATE TABLE test_clock.shift (by interval NOT NULL);
    INSERT INTO test_clock.shift VALUES ('0');
    GRANT USAGE ON SCHEMA test_clock TO PUBLIC;
    GRANT SELECT ON test_clock.shift TO PUBLIC;
    CREATE OR REPLACE FUNCTION sagapost.now() RETURNS timestamptz LANGUAGE sql STABLE
      AS $$ SELECT pg_catalog.now() + by FROM test_clock.shift $$;
    CREATE OR REPLACE FUNCTION sagapost.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT pg_catalog.clock_timestamp() + by FROM test_clock.shift $$`)
}

/** The same, but stopped until it is moved: for tests that depend on an exact time. */
export async function installStoppedClock(pool: pg.Pool, at = '2031-03-10 10:30:00Z'): Promise<void> {
  await installClock(pool)
  await pool.query(`
    CREATE OR REPLACE FUNCTION sagapost.now() RETURNS timestamptz LANGUAGE sql STABLE
      AS $$ SELECT timestamptz ${pg.escapeLiteral(at)} + by FROM test_clock.shift $$;
    CREATE OR REPLACE FUNCTION sagapost.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS $$ SELECT timestamptz ${pg.escapeLiteral(at)} + by FROM test_clock.shift $$`)
}

export async function moveClock(pool: pg.Pool, by: string): Promise<void> {
  await pool.query('UPDATE test_clock.shift SET by = by + $1::interval', [by])
}
