/** What an HTTP API key may call; docs/reference/http-api.md has the table. The order matches the database. */
export const scopes = ['ingest', 'subscriptions', 'operator', 'read', 'admin'] as const

export type Scope = (typeof scopes)[number]
