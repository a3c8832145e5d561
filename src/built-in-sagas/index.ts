export { defineBuiltInSagas } from './define-built-in-sagas.js'
export { countMatching, requeueDeadLetters } from './requeue-dead-letters.js'
export { startSecretRotation } from './start-secret-rotation.js'
