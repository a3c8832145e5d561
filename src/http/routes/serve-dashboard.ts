import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import type { Api } from '../api.js'

/** Where `npm run build` puts the page; beside this file's folder once it is built, in `dist` while it is run from `src`. */
const folders = ['../../dashboard/', '../../../dist/dashboard/'].map((path) => new URL(path, import.meta.url))

const YEAR_S = 31_536_000

/** Scripts and styles of our own and nothing else: no inline code, no frames, nothing sent elsewhere. */
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
  packed: Buffer
}

/** The paths that the page itself understands; each is answered with the page. */
const views = [
  '/',
  '/events',
  '/deliveries',
  '/subscriptions',
  '/dead-letters',
  '/sagas',
  '/system',
  '/sign-in',
]

/** The dashboard's files, without a key: they hold nothing but the page. Read once, packed once, kept in memory. */
export async function addDashboardRoutes(api: Api): Promise<void> {
  const files = await readFiles()
  const keyless = { config: { access: 'keyless' }, schema: { hide: true } } as const
  const index = files.get('index.html')
  // A checkout that was never built: everything else works.
  if (!index) return

  const answer = (file: PageFile, cacheControl: string) => (request: { headers: object }, reply: Reply) => {
    const takesBrotli = /\bbr\b/.test((request.headers as Record<string, string>)['accept-encoding'] ?? '')
    reply.header('content-security-policy', PAGE_POLICY)
    reply.header('cache-control', cacheControl)
    reply.header('vary', 'accept-encoding')
    if (takesBrotli) reply.header('content-encoding', 'br')
    return reply.type(file.type).send(takesBrotli ? file.packed : file.plain)
  }

  for (const view of views) {
    api.get(view, keyless, answer(index, 'no-cache') as never)
    if (view !== '/' && view !== '/system')
      api.get(`${view}/:id`, keyless, answer(index, 'no-cache') as never)
  }
  for (const [name, file] of files) {
    if (name === 'index.html') continue
    // The name of an asset holds a hash of it: another one has another name.
    const isHashed = name.startsWith('assets/')
    const cached = isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache'
    api.get(`/${name}`, keyless, answer(file, cached) as never)
  }
}

interface Reply {
  header(name: string, value: string): unknown
  type(type: string): { send(body: Buffer): unknown }
}

async function readFiles(): Promise<Map<string, PageFile>> {
  for (const folder of folders) {
    const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    const files = names.filter((entry) => entry.isFile() && extname(entry.name) in types)
    if (files.length === 0) continue
    const root = folder.pathname
    return new Map(
      await Promise.all(
        files.map(async (entry) => {
          const path = `${entry.parentPath}/${entry.name}`
          const plain = await readFile(path)
          const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
          const file = {
            type: types[extname(path)] ?? '',
            plain,
            packed: brotliCompressSync(plain, { params }),
          }
          return [path.slice(root.length).replace(/^\/+/, ''), file] as const
        }),
      ),
    )
  }
  return new Map()
}
