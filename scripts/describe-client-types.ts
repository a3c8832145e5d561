import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { buildOpenApi } from './build-openapi.js'

/** The types of every call of the HTTP API, as TypeScript source. */
export async function describeClientTypes(): Promise<string> {
  const types = await openapiTS((await buildOpenApi()) as unknown as OpenAPI3)
  return `// Generated from the OpenAPI document by npm run client:types; a test compares it.\n\n${astToString(types)}`
}
