/**
 * Every code that Sagapost ever answers with, in one place. `docs/reference/errors.md` is compared with it
 * in a test. A code is never renamed or reused once it has been released.
 */
export const errorCatalogue = {
  // Start and configuration
  config_invalid: { title: 'A setting has a value that cannot be used' },
  // Embedded PostgreSQL
  data_dir_in_use: { title: 'Another process runs on this data directory' },
  data_dir_not_ours: { title: 'The data directory holds something that Sagapost did not make' },
  data_dir_newer: { title: 'The data directory was made by a newer release' },
  data_dir_older_postgres: { title: 'The data directory belongs to an older major version of PostgreSQL' },
  data_dir_unusable: { title: 'The data directory cannot be created, read or written' },
  embedded_postgres_missing: { title: 'There are no PostgreSQL binaries for this platform' },
  embedded_postgres_failed: { title: 'The embedded PostgreSQL did not start' },
} as const satisfies Record<string, { title: string }>

export type ErrorCode = keyof typeof errorCatalogue
