import { readFile } from 'node:fs/promises'
import type { Api } from '../api.js'

/** The bundle of Scalar's page, served from the package so that nothing is loaded from elsewhere. */
const bundle = new URL('./js/standalone.js', import.meta.resolve('@scalar/fastify-api-reference'))

const CACHED_S = 3_600

/** Allows inline styles, which the page sets by script; it may load from and call only this server. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sagapost: the HTTP API</title>
</head>
<body>
<noscript>This page needs JavaScript; the document itself is at <a href="openapi.json">openapi.json</a>.</noscript>
<div id="api"></div>
<script src="docs/scalar.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

const start = `Scalar.createApiReference('#api', {
  url: 'openapi.json',
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
})
`

/** Serves the OpenAPI document and a page that shows it, both without a key. */
export function addDocsRoutes(api: Api): void {
  const keyless = { config: { access: 'keyless' }, schema: { hide: true } } as const
  let script: Promise<Buffer> | undefined

  api.get('/openapi.json', keyless, async (_request, reply) => reply.send(api.swagger()))

  api.get('/docs', keyless, async (_request, reply) =>
    reply.header('content-security-policy', PAGE_POLICY).type('text/html; charset=utf-8').send(page),
  )

  api.get('/docs/start.js', keyless, async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(start),
  )

  api.get('/docs/scalar.js', keyless, async (_request, reply) => {
    script ??= readFile(bundle)
    return reply
      .header('cache-control', `public, max-age=${CACHED_S}`)
      .type('text/javascript; charset=utf-8')
      .send(await script)
  })
}
