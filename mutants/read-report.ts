import type { NamedTest, Verdict } from './mutant.js'

/** What is read of Vitest's JSON report. */
export interface VitestReport {
  testResults: {
    /** The path of the test file. */
    name: string
    /** Of a file that could not be loaded. */
    message?: string
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[]
  }[]
}

/** `%s` and the like of it.each, `$name` of its objects, `${…}` of a template. */
const PLACEHOLDERS = /%[sdifjo]|\$\{[^}]*\}|\$\w+/g

/** Matches the full names of the test, whatever its placeholders stand for. */
export function patternOf({ title }: NamedTest): string {
  const fixed = title.split(PLACEHOLDERS).map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  return `(?:^| )${fixed.join('.*')}$`
}

/** The runs of the named test in a report, skipped ones left out. */
function runsOf(report: VitestReport, test: NamedTest) {
  const pattern = new RegExp(patternOf(test), 's')
  return report.testResults
    .filter(({ name }) => name.endsWith(`/${test.file}`))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName, status }) => pattern.test(fullName) && (status === 'passed' || status === 'failed'))
}

/** Killed only by the named test: one that did not run, whatever the reason, has noticed nothing. */
export function judge(report: VitestReport, test: NamedTest): Verdict {
  const runs = runsOf(report, test)
  const failed = runs.find(({ status }) => status === 'failed')
  if (failed) return { outcome: 'killed', detail: reasonOf(failed.failureMessages[0] ?? '') }
  if (runs.length > 0) return { outcome: 'SURVIVED', detail: '' }
  const message = report.testResults.map((file) => file.message ?? '').find((each) => each !== '')
  return {
    outcome: 'error',
    detail: `the named test did not run: ${firstLine(message ?? 'nothing matches')}`,
  }
}

/** Of a test whose time was up the report has a placeholder's stack and no message. */
function reasonOf(failure: string): string {
  return failure.includes('STACK_TRACE_ERROR') ? 'its time was up' : firstLine(failure)
}

export function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').trim()
}
