export { indexDefinitions, type KnownDefinitions } from './index-definitions.js'
export { refuseReservedName } from './refuse-reserved-name.js'
export { type Saga, saga } from './saga.js'
