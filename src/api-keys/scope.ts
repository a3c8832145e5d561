/** What a key of the HTTP API may call; docs/reference/http-api.md has the table. The order is the database's. */
export const scopes = ['ingest', 'subscriptions', 'operator', 'read', 'admin'] as const

export type Scope = (typeof scopes)[number]
