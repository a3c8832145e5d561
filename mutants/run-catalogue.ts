import { applyMutant, StaleMutant } from './apply-mutant.js'
import type { RepositoryCopy } from './copy-repository.js'
import type { Mutant, MutantResult, Verdict } from './mutant.js'
import { firstLine, judge } from './read-report.js'
import { build, runTests } from './run-tests.js'

export interface CatalogueRun {
  copy: RepositoryCopy
  say: (line: string) => void
}

/** The named tests without any mutant: what fails now would prove nothing later. Returns what is wrong, one line each. */
export async function checkBaseline({ copy }: CatalogueRun, mutants: readonly Mutant[]): Promise<string[]> {
  if (mutants.some(({ needsBuild }) => needsBuild)) {
    const { built, output } = await build(copy)
    if (!built) return [`the copy does not build: ${output}`]
  }
  const { report, output } = await runTests(
    copy,
    mutants.map(({ test }) => test),
  )
  if (!report) return [`the tests did not run: ${output}`]
  return mutants.flatMap(({ id, test }) => {
    const { outcome, detail } = judge(report, test)
    return outcome === 'SURVIVED' ? [] : [`${id}: ${test.file} "${test.title}" without the mutant: ${detail}`]
  })
}

/** One mutant after the other, each taken back before the next. */
export async function runCatalogue(
  run: CatalogueRun,
  mutants: readonly Mutant[],
): Promise<readonly MutantResult[]> {
  const results: MutantResult[] = []
  for (const [index, mutant] of mutants.entries()) {
    const startedAt = performance.now()
    const verdict = await tryMutant(run.copy, mutant)
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    results.push({ mutant, seconds, ...verdict })
    run.say(
      `${String(index + 1).padStart(3)}/${mutants.length}  ${verdict.outcome.padEnd(8)}  ${mutant.id}  (${seconds} s)` +
        (verdict.detail ? `  ${verdict.detail.slice(0, 160)}` : ''),
    )
  }
  return results
}

async function tryMutant(copy: RepositoryCopy, mutant: Mutant): Promise<Verdict> {
  let restore: () => Promise<void>
  try {
    restore = await applyMutant(copy.folder, mutant)
  } catch (error) {
    if (error instanceof StaleMutant) return { outcome: 'stale', detail: error.message }
    throw error
  }
  try {
    if (mutant.needsBuild) {
      const { built, output } = await build(copy)
      if (!built) return { outcome: 'error', detail: `does not build: ${firstLine(output)}` }
    }
    const { report, output } = await runTests(copy, [mutant.test])
    if (report && report.testResults.length > 0) return judge(report, mutant.test)
    return { outcome: 'error', detail: lineOfError(output) }
  } finally {
    await restore()
  }
}

/** Of a run that did not come to its tests, such as one whose migrations fail. */
function lineOfError(text: string): string {
  const lines = text.split('\n').filter((line) => /\w/.test(line))
  return (lines.find((line) => /error: |stopped after/i.test(line)) ?? lines.at(-1) ?? 'no report').trim()
}
