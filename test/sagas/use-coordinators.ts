import { afterEach, expect } from 'vitest'
import type { SagaDefinition } from '../../src/sagas/index.js'
import type { CoordinatorOptions } from '../../src/sagas/run/coordinator.js'
import { type CommandedCoordinator, createCommandedCoordinator } from './commanded-coordinator.js'
import type { StorageUnderTest } from './storages.js'

/** Coordinators of a test, stopped with it whatever happens; an error that no test has taken fails it. */
export function useCoordinators(under: StorageUnderTest) {
  const coordinators: CommandedCoordinator[] = []
  const errors: Error[] = []
  afterEach(async () => {
    await Promise.all(coordinators.splice(0).map((coordinator) => coordinator.stop({ timeoutMs: 0 })))
    expect(errors.splice(0)).toEqual([])
  })
  return {
    errors,
    coordinate(
      definitions: SagaDefinition[],
      options: Partial<CoordinatorOptions> = {},
    ): CommandedCoordinator {
      const coordinator = createCommandedCoordinator({
        storage: under.storage,
        definitions,
        onError: (error) => errors.push(error),
        pollMs: 10,
        abortGraceMs: 20,
        ...options,
      })
      coordinators.push(coordinator)
      return coordinator
    },
  }
}
