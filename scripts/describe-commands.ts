import type { Command, Help } from 'commander'

/** Every command of the program as Markdown: what it does, its arguments and options, and its examples. */
export function describeCommands(program: Command): string {
  return program.commands
    .flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
    .map((command) => describeCommand(command, command.createHelp()))
    .join('\n')
}

function describeCommand(command: Command, help: Help): string {
  const rows = [
    ...help.visibleArguments(command).map((argument) => [help.argumentTerm(argument), argument] as const),
    ...help.visibleOptions(command).map((option) => [option.flags, option] as const),
  ]
    .filter(([term]) => term !== '-h, --help')
    .map(([term, { description, argChoices }]) => {
      const choices = argChoices ? `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : ''
      return `| \`${term}\` | ${description}${choices} |`
    })
  return [
    `### sagapost ${pathOf(command)}`,
    '',
    `${sentence(command.description())}`,
    '',
    ...(rows.length > 0 ? ['| | |', '|---|---|', ...rows, ''] : []),
    ...examplesOf(command),
  ].join('\n')
}

function pathOf(command: Command): string {
  const parent = command.parent
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name()
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function examplesOf(command: Command): string[] {
  let printed = ''
  command.configureOutput({ writeOut: (text) => (printed += text) }).outputHelp()
  const examples = [...printed.matchAll(/^ {2}\$ (.+)$/gm)].map(([, line]) => line ?? '')
  return examples.length > 0 ? ['```sh', ...examples, '```', ''] : []
}
