import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** A command for completion; its place is its path, such as `sagapost/keys/create`. */
interface Place {
  place: string
  words: { word: string; description: string }[]
  /** Options with a closed list of values. */
  choices: { option: string; values: readonly string[] }[]
}

/** Generates the script from the command tree, so that it covers every command. */
export function writeCompletion(program: Command, shell: Shell): string {
  const places = collectPlaces(program, program.name())
  switch (shell) {
    case 'bash':
      return writeBash(places)
    case 'zsh':
      return writeZsh(places)
    case 'fish':
      return writeFish(places)
  }
}

function collectPlaces(command: Command, place: string): Place[] {
  const own: Place = {
    place,
    words: [
      ...command.commands.map((each) => ({ word: each.name(), description: each.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((word) => ({ word, description })),
      ),
      ...command.options.map(({ long, description }) => ({ word: long ?? '', description })),
      { word: '--help', description: 'display help' },
    ],
    choices: command.options.flatMap(({ long, argChoices }) =>
      long && argChoices ? [{ option: long, values: argChoices }] : [],
    ),
  }
  return [own, ...command.commands.flatMap((each) => collectPlaces(each, `${place}/${each.name()}`))]
}

const pathsOf = (places: readonly Place[]) => places.map(({ place }) => place).slice(1)

/** The cases of a shell's `case`, one for each place with completions. */
function writeCases(places: readonly Place[], offer: (words: readonly string[]) => string): string {
  const values = places.flatMap(({ place, choices }) =>
    choices.map((choice) => `    '${place} ${choice.option}') ${offer(choice.values)}; return ;;`),
  )
  const words = places.map(
    ({ place, words: own }) => `    '${place}') ${offer(own.map(({ word }) => word))} ;;`,
  )
  return ['  case "$place $previous" in', ...values, '  esac', '  case "$place" in', ...words, '  esac'].join(
    '\n',
  )
}

function writeBash(places: readonly Place[]): string {
  return `# sagapost completion bash
_sagapost() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" place=sagapost word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place/$word" in
      ${pathsOf(places).join('|')}) place="$place/$word" ;;
      *) [[ $place == sagapost && $word != -* ]] && place=unknown ;;
    esac
  done
  COMPREPLY=()
${writeCases(places, (words) => `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current"))`)}
}
complete -o default -F _sagapost sagapost`
}

function writeZsh(places: readonly Place[]): string {
  return `#compdef sagapost
_sagapost() {
  local previous="\${words[CURRENT-1]}" place=sagapost word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place/$word" in
      ${pathsOf(places).join('|')}) place="$place/$word" ;;
      *) [[ $place == sagapost && $word != -* ]] && place=unknown ;;
    esac
  done
${writeCases(places, (words) => `compadd -- ${words.join(' ')}`)}
}
compdef _sagapost sagapost`
}

function writeFish(places: readonly Place[]): string {
  const lines = places.flatMap(({ place, words, choices }) => {
    const at = `complete -c sagapost -n 'test (__sagapost_place) = ${place}'`
    return words.map(({ word, description }) => {
      const values = choices.find(({ option }) => option === word)?.values
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `${at} ${what}${values ? ` -x -a '${values.join(' ')}'` : ''} -d '${quoteForFish(description)}'`
    })
  })
  return [
    '# sagapost completion fish',
    'function __sagapost_place',
    '  set -l place sagapost',
    '  for word in (commandline -opc)[2..-1]',
    '    switch "$place/$word"',
    `      case ${pathsOf(places).join(' ')}`,
    '        set place "$place/$word"',
    '    end',
    '  end',
    '  echo $place',
    'end',
    'complete -c sagapost -f',
    ...lines,
  ].join('\n')
}

function quoteForFish(text: string): string {
  return text.replaceAll(/[\\']/g, (character) => `\\${character}`)
}
