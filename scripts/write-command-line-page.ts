/** `npm run docs:commands`: writes the program's commands into docs/reference/command-line.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { buildProgram } from '../src/cli/run.js'
import { describeCommands } from './describe-commands.js'

const page = new URL('../docs/reference/command-line.md', import.meta.url)
const [intro = ''] = (await readFile(page, 'utf8')).split(/(?<=^## Commands\n)/m)
await writeFile(page, `${intro}\n${describeCommands(buildProgram(process))}`)
