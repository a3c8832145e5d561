/** Where the schema's parts are defined. */
export const schema = {
  events: 'migrations/0002_events.sql',
  subscriptions: 'migrations/0003_subscriptions.sql',
  routing: 'migrations/0004_routing.sql',
  deliveries: 'migrations/0005_deliveries.sql',
  jobs: 'migrations/0006_jobs.sql',
  deadLetters: 'migrations/0007_dead_letters.sql',
  partitions: 'migrations/0008_partitions.sql',
  pausesAndStops: 'migrations/0009_pauses_and_stops.sql',
  sagas: 'migrations/0010_sagas.sql',
  sagaWaits: 'migrations/0011_saga_waits.sql',
  sagaWrites: 'migrations/0012_saga_writes.sql',
  sagaUpkeep: 'migrations/0013_saga_upkeep.sql',
  builtInSagas: 'migrations/0014_built_in_sagas.sql',
  apiAndDashboard: 'migrations/0015_api_and_dashboard.sql',
  grants: 'migrations/0016_grants.sql',
} as const
