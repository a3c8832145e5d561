import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Api } from '../api.js'

/** The output of `npm run build`: next to this folder in a build, in `dist` when run from `src`. */
const folders = ['../../dashboard/', '../../../dist/dashboard/'].map((path) => new URL(path, import.meta.url))

const YEAR_S = 31_536_000

/** Only our own scripts and styles: no inline code, no frames, no requests elsewhere. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'"

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

interface PageFile {
  type: string
  plain: Buffer
  packed: Buffer | undefined
}

/** The client-side routes of the dashboard, which all serve its page. */
const views = [
  ...['/', '/system', '/events', '/deliveries', '/subscriptions', '/dead-letters', '/sagas'],
  ...['/events/:id', '/deliveries/:id', '/subscriptions/:id', '/dead-letters/:id', '/sagas/:id'],
]

/** Serves the dashboard's files without a key, as they contain no data. Read once and kept in memory. */
export async function addDashboardRoutes(api: Api): Promise<void> {
  const files = await readFiles()
  const keyless = { config: { access: 'keyless' }, schema: { hide: true } } as const
  const index = files.get('index.html')
  // In a checkout without a build, everything else works.
  if (!index) return

  const serve = (path: string, file: PageFile, cacheControl: string) =>
    api.get(path, keyless, async ({ headers }, reply) => {
      const packed = /\bbr\b/.test(String(headers['accept-encoding'])) ? file.packed : undefined
      reply.headers({ 'content-security-policy': PAGE_POLICY, 'cache-control': cacheControl })
      if (file.packed) reply.header('vary', 'accept-encoding')
      if (packed) reply.header('content-encoding', 'br')
      return reply.type(file.type).send(packed ?? file.plain)
    })

  for (const view of views) serve(view, index, 'no-cache')
  for (const [name, file] of files) {
    if (name === 'index.html') continue
    // The name of an asset contains a hash of its content.
    const isHashed = name.startsWith('assets/')
    serve(`/${name}`, file, isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache')
  }
}

/** Files by relative path; `<name>.br` is the compressed copy. */
async function readFiles(): Promise<Map<string, PageFile>> {
  for (const folder of folders) {
    const root = fileURLToPath(folder)
    const names = await readdir(root, { recursive: true }).catch((): string[] => [])
    const files = names.filter((name) => extname(name) in types)
    if (files.length === 0) continue
    return new Map(
      await Promise.all(
        files.map(async (name) => {
          const type = types[extname(name)] ?? ''
          const packed = names.includes(`${name}.br`) ? await readFile(join(root, `${name}.br`)) : undefined
          return [
            name.replaceAll('\\', '/'),
            { type, plain: await readFile(join(root, name)), packed },
          ] as const
        }),
      ),
    )
  }
  return new Map()
}
