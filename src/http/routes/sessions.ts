import type { Api } from '../api.js'
import { refuse } from '../problem.js'
import { access } from '../require-scope.js'
import type { Sessions } from '../sessions.js'

/** Signing in to the dashboard and out: for its page, not for programs, and so not in the OpenAPI document. */
export function addSessionRoutes(api: Api, sessions: Sessions): void {
  const schema = { hide: true } as const

  // The key comes as on every other call, once; so bad ones are counted and refused as everywhere.
  api.post('/session', { config: { access: access.signIn }, schema }, async (request, reply) => {
    const key = /^Bearer +(\S+)/i.exec(request.headers.authorization ?? '')?.[1]
    if (key === undefined) throw refuse('unauthenticated', 'send the API key as Authorization: Bearer <key>')
    return reply.header('set-cookie', sessions.begin(key, request)).send(describe(request.caller?.scope))
  })

  api.get('/session', { config: { access: access.signIn }, schema }, async ({ caller }) =>
    describe(caller?.scope),
  )

  api.delete('/session', { config: { access: 'keyless' }, schema }, async (request, reply) => {
    // First, so that this browser is signed out even where the database cannot be told.
    reply.header('set-cookie', sessions.clear(request))
    const session = sessions.read(request)
    if (session !== undefined) await sessions.end(session)
    return reply.code(204).send()
  })
}

/** What the page may offer; the server refuses everything else all the same. */
function describe(scope: string | undefined) {
  const may = Object.entries(access).filter(([, scopes]) =>
    (scopes as readonly string[]).includes(scope ?? ''),
  )
  return { scope, may: may.map(([name]) => name) }
}
