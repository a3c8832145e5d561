import { Argument, type Command } from 'commander'
import { print } from '../print-list.js'
import type { Terminal } from '../terminal.js'
import { type Shell, shells, writeCompletion } from '../write-completion.js'

export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'for which').choices(shells))
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ source <(sagapost completion bash)     # in ~/.bashrc',
        '  $ source <(sagapost completion zsh)      # in ~/.zshrc, behind compinit',
        '  $ sagapost completion fish | source      # in ~/.config/fish/config.fish',
      ].join('\n'),
    )
    .action((shell: Shell) => print(terminal, writeCompletion(program, shell)))
}
