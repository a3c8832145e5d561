/** What `npm run build` made, as in harness/load-built.ts. */
export const loadBuiltSagas = {
  database: (): Promise<typeof import('../../src/database/index.js')> => built('database/index.js'),
  sagas: (): Promise<typeof import('../../src/sagas/index.js')> => built('sagas/index.js'),
}

function built<Module>(path: string): Promise<Module> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href)
}
