/**
 * Sagapost as it is shipped: what `npm run build` made, not what tsx translates on the fly (which names every inner
 * function at run time and is slower by that).
 */
export const loadBuilt = {
  runtime: (): Promise<typeof import('../../src/runtime/index.js')> => built('runtime/index.js'),
  config: (): Promise<typeof import('../../src/config/index.js')> => built('config/index.js'),
  observability: (): Promise<typeof import('../../src/observability/index.js')> =>
    built('observability/index.js'),
  database: (): Promise<typeof import('../../src/database/index.js')> => built('database/index.js'),
  events: (): Promise<typeof import('../../src/delivery/ingestion/index.js')> =>
    built('delivery/ingestion/index.js'),
  claim: (): Promise<typeof import('../../src/delivery/worker/claim-jobs.js')> =>
    built('delivery/worker/claim-jobs.js'),
}

function built<Module>(path: string): Promise<Module> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href)
}
