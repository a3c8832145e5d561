import type { Mutant, MutantResult, Outcome } from './mutant.js'

const BAD: readonly Outcome[] = ['SURVIVED', 'stale', 'error']

export const isGood = (results: readonly MutantResult[]): boolean =>
  results.every(({ outcome }) => !BAD.includes(outcome))

/** `62 mutants: 62 killed, 0 survived, 0 stale, 0 errors, in 7.5 minutes` */
export function summarise(results: readonly MutantResult[]): string {
  const count = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
  const minutes = results.reduce((sum, { seconds }) => sum + seconds, 0) / 60
  return (
    `${results.length} mutants: ${count('killed')} killed, ${count('SURVIVED')} survived, ${count('stale')} stale, ` +
    `${count('error')} errors, in ${minutes.toFixed(1)} minutes`
  )
}

export function tableOf(results: readonly MutantResult[]): string {
  return markdownTable(
    ['mutant', 'rules', 'what is broken', 'the test that must fail', 'outcome', 's'],
    results.map(({ mutant, outcome, seconds }) => [
      ...columnsOf(mutant),
      outcome === 'killed' ? outcome : `**${outcome}**`,
      seconds.toFixed(0),
    ]),
  )
}

export function listOf(mutants: readonly Mutant[]): string {
  return markdownTable(
    ['mutant', 'rules', 'what is broken', 'the test that must fail'],
    mutants.map((mutant) => [...columnsOf(mutant)]),
  )
}

function columnsOf({ id, rules, breaks, test }: Mutant): string[] {
  return [`\`${id}\``, rules.join(', '), breaks, `\`${test.file.replace(/^test\//, '')}\`: ${test.title}`]
}

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(heading), `|${heading.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}
