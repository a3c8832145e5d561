import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verify } from '../../src/receiver/index.js'
import { formatSecret, generateSecret, publicKeyOf } from '../../src/webhook/index.js'
import { challengeBody, type SignedRequest, signRequest } from '../receiver/signed-request.js'
import { freePort } from '../support/free-port.js'
import { parseSecret } from '../support/parse-secret.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsx = import.meta.resolve('tsx')
const guide = readFileSync(join(root, 'docs/guides/receive-webhooks.md'), 'utf8')
const signingPage = readFileSync(join(root, 'docs/reference/signing.md'), 'utf8')

/** The TypeScript of both pages, by the file name in its first line. */
const samples = Object.fromEntries(
  [...`${guide}\n${signingPage}`.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```/gms)].map(
    ([, name = '', code = '']) => [name, code],
  ),
)

/** What runs a sample that is no program by itself: as Next's router does, and a gateway. */
const runners: Record<string, string> = {
  'app/webhooks/route.ts': `
    import { serve } from '@hono/node-server'
    import { POST } from './app/webhooks/route.ts'
    serve({ fetch: (request: Request) => POST(request), port: Number(process.env.PORT) })`,
  'lambda.ts': `
    import { createServer } from 'node:http'
    import { handler } from './lambda.ts'
    createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks).toString('base64')
      const headers = request.headers as Record<string, string>
      const answer = await handler({ headers, body, isBase64Encoded: true })
      response.writeHead(answer.statusCode).end(answer.body)
    }).listen(Number(process.env.PORT))`,
}

const signing = generateSecret()
let folder: string

/** A project that has installed Sagapost, and what the samples import beside it. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-samples-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/sagapost'))
  for (const name of ['@hono', '@types', 'express', 'fastify', 'hono', 'standardwebhooks']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  for (const [name, code] of Object.entries(samples)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), code)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

it('[O1] every TypeScript sample of the two pages is listed here', () => {
  expect((guide + signingPage).match(/^```ts$/gm)).toHaveLength(Object.keys(samples).length)
  expect(Object.keys(samples)).toEqual([
    'node.ts',
    'express.ts',
    'fastify.ts',
    'hono.ts',
    'app/webhooks/route.ts',
    'lambda.ts',
    'standardwebhooks.ts',
    'ed25519.ts',
  ])
})

it('[O1] the samples compile as a user would compile them', () => {
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  expect([stdout, status]).toEqual(['', 0])
})

/** The sample as a program of its own, on a free port; it prints what it was handed. */
async function run(name: string): Promise<{ port: number; stdout: () => string; stop: () => Promise<void> }> {
  const runner = runners[name]
  const file = runner ? `run-${name.replaceAll('/', '-')}` : name
  if (runner) writeFileSync(join(folder, file), runner)
  const port = await freePort()
  const child: ChildProcess = spawn(process.execPath, ['--import', tsx, file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: String(port), WEBHOOK_SECRET: formatSecret(signing) },
  })
  const exited = once(child, 'exit')
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (text) => {
    stdout += text
  })
  child.stderr?.on('data', (text) => {
    stderr += text
  })
  const answers = () => fetch(`http://localhost:${port}/webhooks`).then(() => 'answers')
  const ended = exited.then(() => stderr)
  await expect
    .poll(() => (child.exitCode === null ? answers() : 'ended'))
    .toMatch(/answers|ended/)
    .catch((error) => {
      child.kill('SIGKILL')
      throw error
    })
  if (child.exitCode !== null) throw new Error(`${name} ended:\n${await ended}`)
  return {
    port,
    stdout: () => stdout,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

describe('a sample', () => {
  it.each(Object.keys(samples).filter((name) => name !== 'ed25519.ts'))(
    '[O1, U4] %s runs: it accepts signed requests, answers the challenge and refuses the rest',
    async (name) => {
      const program = await run(name)
      const post = async ({ headers, body }: SignedRequest) => {
        const init = { method: 'POST', headers, body: new Uint8Array(body) }
        const response = await fetch(`http://localhost:${program.port}/webhooks`, init)
        return [response.status, await response.text()]
      }
      try {
        const request = signRequest({ secrets: [signing] })
        expect(await post(request)).toEqual([204, ''])
        await expect.poll(program.stdout).toContain("evt_42 order.placed { order: 7, total: '12.50 €' }")
        expect((await post({ ...request, body: Buffer.from('{"order": 8}') }))[0]).toBe(401)
        const challenge = { headers: { 'content-type': 'application/json' }, body: challengeBody }
        // The samples of the reference verify only.
        if (guide.includes(`// ${name}\n`)) {
          expect(await post(signRequest({ secrets: [signing], ...challenge }))).toEqual([
            200,
            '{"challenge":"Jx2-challenge"}',
          ])
        }
        expect((await post(signRequest(challenge)))[0]).toBe(401)
      } finally {
        await program.stop()
      }
    },
  )
})

describe('docs/reference/signing.md', () => {
  const one = (pattern: RegExp) => pattern.exec(signingPage)?.[1] ?? ''
  const headers = {
    'webhook-id': one(/id `(msg_\w+)`/),
    'webhook-timestamp': one(/timestamp `(\d+)`/),
  }
  const body = Buffer.from(one(/body `(\{.*?\})`/))

  it('[O1] has requests to check a verifier with, and they verify', () => {
    const options = { now: () => Number(headers['webhook-timestamp']) * 1000 }
    const v1 = { ...headers, 'webhook-signature': one(/signature `(v1,\S+)`/) }
    expect(verify(v1, body, one(/secret `(whsec_\S+)`/), options).id).toBe(headers['webhook-id'])
    const v1a = { ...headers, 'webhook-signature': one(/signature `(v1a,\S+)`/) }
    const publicKey = publicKeyOf(parseSecret(one(/private key `(whsk_\S+)`/)))
    expect(verify(v1a, body, publicKey, options).id).toBe(headers['webhook-id'])
  })

  it('[O1] has a sample for ed25519 that verifies, and refuses what was changed', async () => {
    const ed25519 = generateSecret('v1a')
    const request = signRequest({ secrets: [ed25519] })
    const cases = [
      [request.headers, request.body.toString(), publicKeyOf(ed25519)],
      [request.headers, '{"order": 8}', publicKeyOf(ed25519)],
      [request.headers, request.body.toString(), publicKeyOf(generateSecret('v1a'))],
    ]
    writeFileSync(
      join(folder, 'run-ed25519.ts'),
      `import { isSigned } from './ed25519.ts'
       const cases = ${JSON.stringify(cases)} as [Record<string, string>, string, string][]
       console.log(JSON.stringify(cases.map(([headers, body, key]) => isSigned(headers, Buffer.from(body), key))))`,
    )
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', tsx, 'run-ed25519.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect([stdout.trim(), stderr]).toEqual(['[true,false,false]', ''])
  })
})

it('[O1] the guide lists every code of the kit with its status', () => {
  const source = ['verification-error.ts', 'answer-request.ts'].map((file) =>
    readFileSync(join(root, 'src/receiver', file), 'utf8'),
  )
  const statuses = [...(source[1] ?? '').matchAll(/^ {2}(\w+): (\d{3}),$/gm)].map(([, code, status]) => [
    code,
    status,
  ])
  const answers = [...(source[1] ?? '').matchAll(/problem\((\d{3}), '(\w+)'/g)].map(([, status, code]) => [
    code,
    status,
  ])
  const rows = [...guide.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, status])
  expect(rows.toSorted()).toEqual([...statuses, ...answers].toSorted())
  expect(statuses.map(([code]) => code)).toEqual(
    [...(source[0] ?? '').matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => code),
  )
})
