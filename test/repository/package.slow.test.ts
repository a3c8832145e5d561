import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries: Record<string, { types: string; default: string } | string> = manifest.exports

let packed: string[]
let folder: string

/** A project that has installed what npm would publish: the packed files, and the dependencies of the package. */
beforeAll(() => {
  const npm = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], {
    cwd: root,
    encoding: 'utf8',
  })
  packed = JSON.parse(npm.stdout)[0].files.map(({ path }: { path: string }) => path)
  folder = mkdtempSync(join(tmpdir(), 'sagapost-package-'))
  const installed = join(folder, 'node_modules/sagapost')
  for (const path of packed) {
    mkdirSync(dirname(join(installed, path)), { recursive: true })
    cpSync(join(root, path), join(installed, path))
  }
  // Where a package manager would put them, so that nothing but Sagapost itself finds them.
  mkdirSync(join(installed, 'node_modules'))
  for (const name of Object.keys(manifest.dependencies)) link(join(installed, 'node_modules'), name)
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
})
afterAll(() => rmSync(folder, { recursive: true }))

function link(modules: string, name: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), join(modules, name))
}

describe('what npm publishes', () => {
  it('[O1] has commands that can be run, also where npx has linked an earlier build and sets no mode', () => {
    for (const path of Object.values(manifest.bin as Record<string, string>)) {
      expect(statSync(join(root, path)).mode & 0o111).toBe(0o111)
    }
  })

  it('[O1] has every file that package.json names, and the migrations', () => {
    const named = Object.values(entries).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    )
    const wanted = [...named, ...Object.values(manifest.bin as Record<string, string>)].map((path) =>
      path.replace(/^\.\//, ''),
    )
    expect(wanted.filter((path) => !packed.includes(path))).toEqual([])
    const migrations = readdirSync(join(root, 'migrations')).map((file) => `migrations/${file}`)
    expect(migrations.length).toBeGreaterThan(10)
    expect(migrations.filter((path) => !packed.includes(path))).toEqual([])
  })

  it('[O1] names the types of an entry before its code: a compiler takes the first match', () => {
    for (const entry of Object.values(entries)) {
      if (typeof entry !== 'string') expect(Object.keys(entry)).toEqual(['types', 'default'])
    }
  })

  it('[O1] depends on nothing that only this repository overrides: overrides do not apply to users', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const installed = Object.entries(
      lock.packages as Record<string, { dev?: boolean; devOptional?: boolean }>,
    )
      .filter(([, { dev, devOptional }]) => !dev && !devOptional)
      .map(([path]) => path.split('node_modules/').at(-1))
    expect(installed).toContain('fastify')
    expect(Object.keys(manifest.overrides).filter((name) => installed.includes(name))).toEqual([])
  })

  it('[O1] has no test, no source, no sample', () => {
    const foreign = packed.filter(
      (path) => !/^(dist|migrations)\/|^(package\.json|README\.md|LICENSE)$/.test(path),
    )
    expect(foreign).toEqual([])
  })
})

/** The path that a user imports. */
const specifiers = Object.keys(entries)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace(/^\./, 'sagapost'))

describe('a project that has installed it', () => {
  it.each(specifiers)('[O1] imports %s', (specifier) => {
    const program = `import * as face from '${specifier}'; console.log(Object.keys(face).length > 0)`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect([stdout.trim(), stderr]).toEqual(['true', ''])
  })

  it('[O1] gets from sagapost the class, its errors, and nothing from inside', () => {
    const program = `import * as face from 'sagapost'; console.log(Object.keys(face).sort().join())`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(stdout.trim()).toBe('NonRetryableError,Sagapost,SagapostError,saga')
  })

  /** Runs tsc as strictly as a user may, on `code`, with nothing but these packages of types. */
  function compile(code: string, typePackages: readonly string[]): string {
    rmSync(join(folder, 'node_modules/@types'), { recursive: true, force: true })
    for (const name of typePackages) link(join(folder, 'node_modules'), name)
    writeFileSync(join(folder, 'consumer.ts'), code)
    const compilerOptions = {
      ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', strict: true, noEmit: true },
      ...{ skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      types: typePackages.includes('@types/node') ? ['node'] : [],
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['consumer.ts'] }),
    )
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout
  }

  const use = `
    import { type Delivery, type Page, Sagapost, SagapostError, type SagapostOptions, saga } from 'sagapost'
    const options: SagapostOptions = { databaseUrl: '', masterKey: '', parts: ['worker'], retryBaseDelay: '30s' }
    const sagapost = new Sagapost({ ...options, retryMaxDelay: 60_000 })
    const page: Page<Delivery> = await sagapost.deliveries.list({ status: 'Completed' })
    const text: string = await sagapost.metrics()
    export const isGone = (error: unknown) => error instanceof SagapostError && error.code === 'instance_stopped'
    export { page, text }
    const shop = saga<{ sku: string }>('shop', { retry: { maxAttempts: 2 } })
      .step('reserve', { run: ({ input, signal }) => ({ item: input.sku, stopped: signal.aborted }) })
      .transaction('book', { run: ({ tx, outputs }) => tx.query('SELECT $1', [outputs.reserve.item]) })
    const runner = new Sagapost({ databaseUrl: '', sagas: [shop], parts: ['sagas'] })
    const handle = await runner.sagas.start(shop, { sku: 'a' }, { key: 'order-7' })
    const ended = await handle.result()
    export const item: string | undefined = ended.outputs.reserve?.item
    export const sure: string | false = ended.state === 'Completed' && ended.outputs.reserve.item
    // @ts-expect-error another input
    runner.sagas.start(shop, { sku: 7 })
    // @ts-expect-error there is no such step before
    saga('other').step('first', { run: ({ outputs }) => outputs.last })
    // @ts-expect-error a part that is not one
    new Sagapost({ databaseUrl: '', parts: ['routers'] })
    // @ts-expect-error either a value or a text
    sagapost.publish({ query: async () => ({ rows: [] }) }, { type: 'a', payload: 1, payloadJson: '1' })
    // @ts-expect-error no payload at all
    sagapost.publish({ query: async () => ({ rows: [] }) }, { type: 'a' })`

  it('[O1] compiles against sagapost without any other package of types', () => {
    expect(compile(use, [])).toBe('')
  })

  it('[O1] compiles against sagapost/testing without any other package of types, and sagapost/client with those of Node', () => {
    const code = `import { saga } from 'sagapost'
      import { createSagaTest } from 'sagapost/testing'
      const shop = saga<{ sku: string }>('shop').step('reserve', { run: ({ input }) => input.sku })
      const run = await createSagaTest({ sagas: [shop] }).run(shop, { sku: 'a' })
      export const reserved: string | undefined = run.outputs.reserve`
    expect(compile(code, [])).toBe('')
    const client = `import { createClient } from 'sagapost/client'
      export const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'spk_x' })`
    expect(compile(client, ['@types/node'])).toBe('')
  })

  it('[O1] compiles against sagapost/receiver with the types of Node', () => {
    const code = `import { nodeHandler, verify } from 'sagapost/receiver'
      import { createServer } from 'node:http'
      createServer(nodeHandler({ secret: '', onEvent: (event) => console.log(event.payload) }))
      export const event = verify({}, Buffer.alloc(0), '')`
    expect(compile(code, ['@types/node'])).toBe('')
  })

  it("[O1] passes pg's clients, pino's and its own logs", () => {
    for (const name of ['pg', 'pino', 'pg-types', 'pg-protocol', 'fastify'])
      link(join(folder, 'node_modules'), name)
    const code = `${use}
      import fastify from 'fastify'
      import pg from 'pg'
      import { pino } from 'pino'
      new Sagapost({ databaseUrl: '', log: pino() })
      new Sagapost({ databaseUrl: '', log: fastify().log })
      new Sagapost({ databaseUrl: '', log: pino().child({ part: 'webhooks' }) })
      const pool = new pg.Pool()
      const event = { type: 'order.placed', payload: { order: 7 } }
      sagapost.publish(await pool.connect(), event)
      sagapost.publish(new pg.Client(), event)
      sagapost.publish(pool, { type: 'order.placed', payloadJson: '{}', idempotencyKey: 'order-7' })
      runner.sagas.startIn(await pool.connect(), shop, { sku: 'a' })
      saga('call').step('fetch', { run: ({ signal }) => fetch('https://example.com', { signal }).then((it) => it.status) })
        .transaction('keep', { run: async ({ tx }) => (await tx.query<{ n: number }>('SELECT 1 AS n')).rows[0]?.n })`
    expect(compile(code, ['@types/node', '@types/pg'])).toBe('')
  })
})
