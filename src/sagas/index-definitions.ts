import type { SagaDefinition } from './definition.js'
import { invalidDefinition } from './invalid-definition.js'

export interface KnownDefinitions {
  get(name: string, version: number): SagaDefinition | undefined
}

/** Each version of each definition, once. */
export function indexDefinitions(definitions: readonly SagaDefinition[]): KnownDefinitions {
  const known = new Map<string, SagaDefinition>()
  const keyOf = (name: string, version: number) => `${name}@${version}`
  for (const definition of definitions) {
    const key = keyOf(definition.name, definition.version)
    if (known.has(key)) throw invalidDefinition(`${key} is defined twice`)
    if (definition.steps.length === 0) throw invalidDefinition(`${key} has no steps`)
    known.set(key, definition)
  }
  return { get: (name, version) => known.get(keyOf(name, version)) }
}
