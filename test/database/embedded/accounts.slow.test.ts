import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { completeBinaries } from '../../../src/database/embedded/complete-binaries.js'
import { copyNative, findServers, makeFolder, quick, useDataDir } from './make-folder.js'
import { query } from './query-server.js'
import { serverScript, spawnScript } from './spawn-process.js'
import { startServer } from './start-server.js'

const usedDataDir = useDataDir()

const nobody = 65534
const uidOf = (pid: number) => statSync(`/proc/${pid}`).uid

function makeOpenFolder(): string {
  const folder = makeFolder()
  chmodSync(folder, 0o755)
  return folder
}

describe.runIf(process.getuid?.() === 0)('as root', () => {
  it('[O2] runs the server as another user though data and programs lie below a 0700 folder', async () => {
    const folder = makeFolder()
    const nativeDir = copyNative(folder)
    const cacheDir = join(makeOpenFolder(), 'cache')
    const dataDir = join(folder, 'data')
    const server = await startServer({ dataDir, nativeDir, cacheDir, settings: quick })
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    for (const pid of findServers(dataDir)) expect(uidOf(pid)).not.toBe(0)
    for (const path of [folder, dataDir]) expect(statSync(path)).toMatchObject({ uid: 0, mode: 0o40700 })
    const [copy] = readdirSync(cacheDir)
    expect(statSync(join(cacheDir, copy as string))).toMatchObject({ uid: 0, mode: 0o40755 })
    await server.stop()
    const again = await startServer({ dataDir, nativeDir, cacheDir, settings: quick })
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(readdirSync(cacheDir)).toEqual([copy])
  })

  it('[O2] runs the server as the owner of the cluster', async () => {
    const dataDir = await usedDataDir()
    execFileSync('chown', ['-R', `${nobody}:${nobody}`, join(dataDir, 'postgres')])
    const server = await startServer({ dataDir, settings: quick })
    expect(uidOf(server.pid)).toBe(nobody)
  })

  it('[O2] adopts a cluster that root has restored, but nothing that its links point to', async () => {
    const dataDir = await usedDataDir()
    execFileSync('chown', ['-R', '0:0', join(dataDir, 'postgres')])
    const outside = makeFolder()
    writeFileSync(join(outside, 'shadow'), 'of root')
    symlinkSync(outside, join(dataDir, 'postgres', 'planted'))
    const server = await startServer({ dataDir, settings: quick })
    expect(statSync(join(outside, 'shadow')).uid).toBe(0)
    expect(await query(server.url, 'CREATE TABLE t AS SELECT 1')).toEqual([])
    expect(uidOf(server.pid)).not.toBe(0)
  })
})

describe.runIf(process.getuid?.() === 0)('as an ordinary user', () => {
  /** The built launcher, where the user can read it wherever the checkout lies. */
  function makeUserFolder(): { folder: string; script: string; module: string } {
    const folder = makeOpenFolder()
    const dist = fileURLToPath(new URL('../../../dist', import.meta.url))
    for (const part of ['errors', 'database/embedded']) {
      cpSync(join(dist, part), join(folder, 'dist', part), { recursive: true })
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    cpSync(serverScript, join(folder, 'server-process.mjs'))
    mkdirSync(join(folder, 'own'))
    chownSync(join(folder, 'own'), nobody, nobody)
    const module = pathToFileURL(join(folder, 'dist/database/embedded/index.js')).href
    return { folder, script: join(folder, 'server-process.mjs'), module }
  }

  it('[O2] runs the server as itself, from a package of root that lacks links and executable bits', async () => {
    const { folder, script, module } = makeUserFolder()
    const nativeDir = copyNative(folder)
    for (const name of readdirSync(join(nativeDir, 'bin'))) chmodSync(join(nativeDir, 'bin', name), 0o644)
    const dataDir = join(folder, 'own', 'data')
    const cacheDir = join(folder, 'own', 'cache')
    const options = { dataDir, nativeDir, cacheDir, settings: quick }
    const child = spawnScript(script, [module, JSON.stringify(options)], {
      uid: nobody,
      gid: nobody,
      cwd: '/',
    })
    const answer = JSON.parse(await child.nextLine())
    expect(answer).toMatchObject({ version: expect.stringMatching(/^18/) })
    expect(uidOf(answer.pid)).toBe(nobody)
    expect(await query(answer.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    const [copy] = readdirSync(cacheDir)
    expect(statSync(join(cacheDir, copy as string)).uid).toBe(nobody)
    child.say('stop')
    await child.ended
    expect(findServers(dataDir)).toEqual([])
  })

  it('[O2] uses a complete package where it is, and reports when it may not write to the data directory', async () => {
    const { folder, script, module } = makeUserFolder()
    const nativeDir = copyNative(folder)
    await completeBinaries(nativeDir)
    const start = async (dataDir: string) => {
      const options = { dataDir, nativeDir, cacheDir: join(folder, 'cache'), settings: quick }
      const child = spawnScript(script, [module, JSON.stringify(options)], {
        uid: nobody,
        gid: nobody,
        cwd: '/',
      })
      return { child, answer: JSON.parse(await child.nextLine()) }
    }
    mkdirSync(join(folder, 'closed'), { mode: 0o755 })
    for (const [dataDir, why] of [
      [join(folder, 'closed'), /^The data directory \S+ belongs to another user \(uid 0\)/],
      [
        join(folder, 'closed', 'data'),
        /^The data directory \S+ cannot be used: EACCES: permission denied.*$/,
      ],
    ] as const) {
      const { answer } = await start(dataDir)
      expect(answer.code).toBe('data_dir_unusable')
      expect(answer.message).toMatch(why)
    }
    const { child, answer } = await start(join(folder, 'own', 'data'))
    expect(await query(answer.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    child.say('stop')
    await child.ended
  })
})
