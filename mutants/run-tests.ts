import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RepositoryCopy } from './copy-repository.js'
import type { NamedTest } from './mutant.js'
import { patternOf, type VitestReport } from './read-report.js'

/** Beyond this not even the limits of vitest.config.ts have helped. */
const RUN_MS_MAX = 180_000
const RUN_ALL_MS_MAX = 20 * 60_000
const BUILD_MS_MAX = 120_000
const OUTPUT_CHARACTERS_MAX = 4_000

const running = new Set<() => void>()
let stopped = false

/** Ends what is under way; nothing else is begun, and who waits for it waits until the process ends. */
export function stopTests(): void {
  stopped = true
  for (const kill of running) kill()
}

/** Runs the named tests in the copy; null with the end of the output when Vitest made no report. */
export async function runTests(
  { folder, scratch }: RepositoryCopy,
  tests: readonly NamedTest[],
): Promise<{ report: VitestReport | null; output: string }> {
  const reportFile = join(scratch, 'report.json')
  await rm(reportFile, { force: true })
  const output = await runScript({
    folder,
    scratch,
    script: 'node_modules/vitest/vitest.mjs',
    args: [
      'run',
      ...['--config', 'mutants/vitest.config.ts', '--project', 'postgres-18'],
      ...['--testNamePattern', [...new Set(tests.map(patternOf))].map((each) => `(${each})`).join('|')],
      ...['--reporter', 'json', '--outputFile', reportFile],
      ...new Set(tests.map(({ file }) => file)),
    ],
    limitMs: tests.length > 1 ? RUN_ALL_MS_MAX : RUN_MS_MAX,
  })
  const text = await readFile(reportFile, 'utf8').catch(() => null)
  return { report: text === null ? null : (JSON.parse(text) as VitestReport), output: output.text }
}

/** Builds the program in the copy. Types are not looked at: whether a mutant has good ones does not matter. */
export async function build({
  folder,
  scratch,
}: RepositoryCopy): Promise<{ built: boolean; output: string }> {
  const { code, text } = await runScript({
    folder,
    scratch,
    script: 'node_modules/typescript/bin/tsc',
    args: ['-p', 'tsconfig.build.json', '--noCheck'],
    limitMs: BUILD_MS_MAX,
  })
  return { built: code === 0, output: text }
}

interface Script {
  folder: string
  scratch: string
  script: string
  args: readonly string[]
  limitMs: number
}

/** In a process group of its own, so that nothing it started outlives it. */
async function runScript({ folder, scratch, script, args, limitMs }: Script) {
  if (stopped) return new Promise<never>(() => {})
  const child = spawn(process.execPath, [join(folder, script), ...args], {
    cwd: folder,
    env: { ...process.env, TMPDIR: scratch, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const kill = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {} // no process left
  }
  running.add(kill)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-OUTPUT_CHARACTERS_MAX)
    })
  }
  const timer = setTimeout(() => {
    text += `\nstopped after ${limitMs / 1000} s`
    kill()
  }, limitMs)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return stopped ? await new Promise<never>(() => {}) : { code, text }
  } finally {
    clearTimeout(timer)
    kill()
    running.delete(kill)
  }
}
