import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsx = import.meta.resolve('tsx')

export interface Samples {
  /** Of each page, the names that its samples begin with; a sample without one has an empty name. */
  readonly names: readonly string[]
  compile(): string
  run(args: readonly string[], env?: Record<string, string>): Promise<{ code: unknown; output: string }>
}

/** The TypeScript samples of some pages as files of a project that has installed Sagapost and pg. */
export function useSamples(...pages: string[]): Samples {
  const samples = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(?:\/\/ (\S+)\n)?(.*?)^```/gms)].map(
      ([, name = '', code = '']) => ({ name, code }),
    ),
  )
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sagapost-samples-'))
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/sagapost'))
    for (const name of ['@types', 'pg']) {
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    }
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    for (const { name, code } of samples) writeFileSync(join(folder, name), code)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  return {
    names: samples.map(({ name }) => name),
    compile() {
      const compilerOptions = {
        ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'] },
        ...{ strict: true, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true },
      }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout
    },
    async run(args, env = {}) {
      const child = spawn(process.execPath, ['--import', tsx, ...args], {
        cwd: folder,
        env: { PATH: process.env['PATH'], ...env },
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          output += text
        })
      }
      const [code] = await once(child, 'close')
      return { code, output }
    },
  }
}
