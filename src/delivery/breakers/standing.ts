/** What is known of a subscription's endpoint: it answers; nobody has tried it; its last deliveries have failed. */
export type Standing = 'answering' | 'untried' | 'failing'
