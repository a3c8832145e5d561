/** What is attacked is what is shipped: the result of `npm run build`, not the sources. */
export const loadBuilt = {
  face: (): Promise<typeof import('../../src/index.js')> => built('index.js'),
  observability: (): Promise<typeof import('../../src/observability/index.js')> =>
    built('observability/index.js'),
}

function built<Module>(path: string): Promise<Module> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href)
}
