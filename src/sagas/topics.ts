/** The names of what a step can wait for, as saga_steps.waits_for stores them; news is addressed to them. */
export function signalTopic(name: string, key: string): string {
  return `signal:${name}:${key}`
}

export function sagaTopic(sagaId: string): string {
  return `saga:${sagaId}`
}

/** The event that this step published. */
export function deliveryTopic(sagaId: string, stepIndex: number): string {
  return `delivery:${sagaId}:${stepIndex}`
}

/** The saga that a topic is about. */
export function sagaOfTopic(topic: string | null): string | undefined {
  return topic?.startsWith('saga:') ? topic.slice('saga:'.length) : undefined
}
