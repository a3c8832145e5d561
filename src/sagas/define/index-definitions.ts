import type { SagaDefinition } from '../definition.js'
import { invalidDefinition } from '../invalid-definition.js'

export interface KnownDefinitions {
  readonly all: readonly SagaDefinition[]
  get(name: string, version: number): SagaDefinition | undefined
}

/** Indexes each version of each definition once, including the children that their steps start. */
export function indexDefinitions(definitions: readonly SagaDefinition[]): KnownDefinitions {
  const known = new Map<string, SagaDefinition>()
  const keyOf = (name: string, version: number) => `${name}@${version}`
  const add = (definition: SagaDefinition, isChild: boolean) => {
    const key = keyOf(definition.name, definition.version)
    // The same child may be a step of several sagas, and in the list as well.
    if (known.get(key) === definition && (isChild || children.has(definition))) return
    if (known.has(key)) throw invalidDefinition(`${key} is defined twice`)
    if (definition.steps.length === 0) throw invalidDefinition(`${key} has no steps`)
    known.set(key, definition)
    if (isChild) children.add(definition)
    for (const step of definition.steps) if (step.kind === 'saga') add(step.child, true)
  }
  const children = new Set<SagaDefinition>()
  for (const definition of definitions) add(definition, false)
  return { all: [...known.values()], get: (name, version) => known.get(keyOf(name, version)) }
}
