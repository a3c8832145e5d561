import type { ApiOptions } from '../src/http/api.js'
import { buildServer } from '../src/http/server/build-server.js'

/** The OpenAPI 3.1 document of the whole API, without a database and without listening. */
export async function buildOpenApi(): Promise<Record<string, unknown>> {
  // No route is called, so nothing of this is used but that it is there.
  const masterKey = Buffer.alloc(0)
  const nothing = {
    apiKey: undefined,
    masterKey,
    allowedCidrs: [],
    pools: {},
    checkReadiness: async () => [],
  }
  const metrics = async () => ({ contentType: '', body: '' })
  const server = await buildServer({ ...nothing, metrics } as unknown as ApiOptions)
  await server.ready()
  const document = server.swagger() as unknown as Record<string, unknown>
  await server.close()
  return document
}
