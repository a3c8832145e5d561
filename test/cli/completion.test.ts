import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildProgram } from '../../src/cli/run.js'
import { shells, writeCompletion } from '../../src/cli/write-completion.js'
import { runCli } from '../support/run-cli.js'

const program = buildProgram(process)

describe.each(shells)('sagapost completion %s', (shell) => {
  it('prints a script that the shell can read', async () => {
    const { code, stdout, stderr } = await runCli(['completion', shell])
    expect([code, stderr, stdout]).toEqual([0, '', `${writeCompletion(program, shell)}\n`])
    const check = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })
    // A shell that this machine does not have can check nothing; bash is everywhere.
    if (check.error && shell !== 'bash') return
    expect([check.status, check.stderr]).toEqual([0, ''])
  })

  it('knows every command and option', () => {
    const script = writeCompletion(program, shell)
    for (const noun of program.commands) {
      for (const command of [noun, ...noun.commands]) {
        expect(script).toContain(command.name())
        for (const { long } of command.options) {
          expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long)
        }
      }
    }
  })
})

describe('in bash', () => {
  let script: string
  beforeAll(() => {
    script = writeCompletion(program, 'bash')
  })

  it.each([
    [['sagapost', 'dead'], ['dead-letters']],
    [
      ['sagapost', 'keys', ''],
      ['create', 'list', 'revoke', '--help'],
    ],
    [['sagapost', 'keys', 'create', '--sc'], ['--scope']],
    [['sagapost', 'keys', 'create', '--name', 'x', '--scope', 'o'], ['operator']],
    [
      ['sagapost', 'deliveries', 'list', '--status', 'Pending'],
      ['Pending', 'PendingRetry'],
    ],
    [
      ['sagapost', 'completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [['sagapost', 'nonsense', 'li'], []],
  ])('completes %j', (words, expected) => {
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const ask = `${script}\nCOMP_WORDS=(${quoted})\nCOMP_CWORD=${words.length - 1}\n_sagapost\nprintf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', ask], { encoding: 'utf8' })
    expect([stderr, stdout.trim().split('\n').filter(Boolean)]).toEqual(['', expected])
  })
})
