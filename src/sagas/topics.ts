/** What a step can wait for, as it stands in saga_steps.waits_for: whoever has news of it knows it by this name. */
export function signalTopic(name: string, key: string): string {
  return `signal:${name}:${key}`
}

export function sagaTopic(sagaId: string): string {
  return `saga:${sagaId}`
}

/** The event that this step has published. */
export function deliveryTopic(sagaId: string, stepIndex: number): string {
  return `delivery:${sagaId}:${stepIndex}`
}

/** The saga that the topic is about. */
export function sagaOfTopic(topic: string | null): string | undefined {
  return topic?.startsWith('saga:') ? topic.slice('saga:'.length) : undefined
}
