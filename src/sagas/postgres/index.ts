export { createPostgresStorage, type PostgresStorageOptions } from './create-postgres-storage.js'
export { maintainSagaTables, type SagaMaintenance, sagaMaintenanceTasks } from './maintain-tables.js'
export { readSagaTables, type SagaTables } from './watch-tables.js'
