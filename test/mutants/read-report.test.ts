import { describe, expect, it } from 'vitest'
import { judge, patternOf, type VitestReport } from '../../mutants/read-report.js'

const test = { file: 'test/some.test.ts', title: '[S1] %s of $what is ${legal ? 1 : 2} (all)' }
const name = 'a part [S1] this of that is 1 (all)'

const reportOf = (
  status: string,
  fullName = name,
  file = '/copy/test/some.test.ts',
  failure = 'Error: no\n at x',
): VitestReport => ({
  testResults: [{ name: file, assertionResults: [{ fullName, status, failureMessages: [failure] }] }],
})

describe('a mutant', () => {
  it('[O6] is killed when the named test failed, and by nothing else', () => {
    expect(judge(reportOf('failed'), test)).toEqual({ outcome: 'killed', detail: 'Error: no' })
    expect(judge(reportOf('passed'), test)).toMatchObject({ outcome: 'SURVIVED' })
    const late = reportOf('failed', name, undefined, 'Error: STACK_TRACE_ERROR\n at y')
    expect(judge(late, test)).toEqual({ outcome: 'killed', detail: 'its time was up' })
  })

  it.each([
    ['was skipped', reportOf('skipped')],
    ['has another title', reportOf('failed', 'a part [S1] this of that is 1 (all) and more')],
    ['only ends like it', reportOf('failed', `a part ${name.replace('[S1]', '-[S1]')}`)],
    ['stands in another file', reportOf('failed', name, '/copy/test/other.test.ts')],
    ['could not be loaded', { testResults: [{ name: '/copy/test/some.test.ts', assertionResults: [] }] }],
    ['was not found', { testResults: [] }],
  ])('[O6] is an error, neither killed nor alive, when the test %s', (_, report) => {
    expect(judge(report, test)).toMatchObject({ outcome: 'error' })
  })

  it('[O6] is judged by any case of a test with placeholders', () => {
    expect(patternOf({ file: '', title: '[U3] %j is refused: a.b' })).toBe(
      '(?:^| )\\[U3\\] .* is refused: a\\.b$',
    )
    const [passed, failed] = [reportOf('passed'), reportOf('failed', name.replace('this', 'other'))]
    const both = { testResults: [...passed.testResults, ...failed.testResults] }
    expect(judge(both, test)).toMatchObject({ outcome: 'killed' })
  })
})
