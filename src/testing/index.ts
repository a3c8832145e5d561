/** `import { createSagaTest } from 'sagapost/testing'`: tests sagas without a database and without waiting. */
export {
  createSagaTest,
  type SagaTest,
  type SagaTestDeliveries,
  type SagaTestOptions,
  type SagaTestPause,
  type SagaTestPublished,
  type SagaTestResolution,
  type SagaTestSignal,
} from './create-saga-test.js'
export type { Fault, FaultPlace } from './plan-faults.js'
export type { SagaTestEvent, SagaTestRun } from './saga-test-run.js'
