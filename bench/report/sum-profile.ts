/** What Node's `--cpu-prof` writes, as far as it is read here. */
export interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  /** µs. */
  timeDeltas: number[]
}

export interface ProfileShare {
  name: string
  ms: number
}

/** The time of each function without those it calls, and of each package or folder; idle time left out. */
export function sumProfile({ nodes, samples, timeDeltas }: CpuProfile): {
  totalMs: number
  functions: ProfileShare[]
  folders: ProfileShare[]
} {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const functions = new Map<string, number>()
  const folders = new Map<string, number>()
  let totalMs = 0
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)
    if (!frame || frame.functionName === '(idle)') continue
    const ms = (timeDeltas[index] ?? 0) / 1000
    totalMs += ms
    const where = placeOf(frame.url)
    const name = `${frame.functionName || '(anonymous)'} ${where.file}:${frame.lineNumber + 1}`
    functions.set(name, (functions.get(name) ?? 0) + ms)
    folders.set(where.folder, (folders.get(where.folder) ?? 0) + ms)
  }
  return { totalMs, functions: descending(functions), folders: descending(folders) }
}

function placeOf(url: string): { file: string; folder: string } {
  if (url === '') return { file: '(native)', folder: '(native, garbage collection)' }
  const inPackage = url.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/)
  if (inPackage) return { file: `${inPackage[1]}/${inPackage[2]}`, folder: `${inPackage[1]}` }
  const inDist = url.match(/\/dist\/((.*?)\/?[^/]+)$/)
  if (inDist) return { file: `${inDist[1]}`, folder: `src/${inDist[2]}` }
  if (url.startsWith('node:')) return { file: url, folder: url.split('/').slice(0, 2).join('/') }
  return { file: url.split('/').slice(-2).join('/'), folder: 'bench' }
}

function descending(sums: ReadonlyMap<string, number>): ProfileShare[] {
  return [...sums].map(([name, ms]) => ({ name, ms })).toSorted((a, b) => b.ms - a.ms)
}
