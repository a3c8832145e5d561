import type { Api } from '../api.js'
import { refuse } from '../problem.js'
import { access } from '../require-scope.js'
import type { Sessions } from '../sessions.js'

/** Signs in to and out of the dashboard. Not in the OpenAPI document, as only its page uses these. */
export function addSessionRoutes(api: Api, sessions: Sessions): void {
  const schema = { hide: true } as const

  // The key is sent as on every other call, so invalid keys are counted and refused the same way.
  api.post('/session', { config: { access: access.signIn }, schema }, async (request, reply) => {
    const key = /^Bearer +(\S+)/i.exec(request.headers.authorization ?? '')?.[1]
    if (key === undefined) throw refuse('unauthenticated', 'send the API key as Authorization: Bearer <key>')
    return reply.header('set-cookie', sessions.begin(key, request)).send(describe(request.caller?.scope))
  })

  api.get('/session', { config: { access: access.signIn }, schema }, async ({ caller }) =>
    describe(caller?.scope),
  )

  api.delete('/session', { config: { access: 'keyless' }, schema }, async (request, reply) => {
    // First, so that the browser is signed out even when the database is unreachable.
    reply.header('set-cookie', sessions.clear(request))
    const session = sessions.read(request)
    if (session !== undefined) await sessions.end(session)
    return reply.code(204).send()
  })
}

/** The actions that the page offers; the server refuses all others in any case. */
function describe(scope: string | undefined) {
  const may = Object.entries(access).filter(([, scopes]) =>
    (scopes as readonly string[]).includes(scope ?? ''),
  )
  return { scope, may: may.map(([name]) => name) }
}
