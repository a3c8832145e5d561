/** `npm run client:types`: writes the types of the HTTP API, from its OpenAPI document, for src/client. */
import { writeFile } from 'node:fs/promises'
import { describeClientTypes } from './describe-client-types.js'

await writeFile(new URL('../src/client/api-types.ts', import.meta.url), await describeClientTypes())
