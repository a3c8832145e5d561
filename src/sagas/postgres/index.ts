export { createPostgresStorage, type PostgresStorageOptions } from './create-postgres-storage.js'
export { pageSagas } from './page-sagas.js'
export { showSaga } from './show-saga.js'
export { isSagaId, toFailure } from './view-rows.js'
