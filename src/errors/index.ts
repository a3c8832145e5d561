export { type ErrorCode, errorCatalogue } from './catalogue.js'
export { SagapostError } from './sagapost-error.js'
