/** `npm run test:mutants`: puts one bug after the other into a copy of the code; each must make its named test fail. */
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { catalogue } from './catalogue/index.js'
import { copyRepository } from './copy-repository.js'
import { type MutantOptions, readOptions, usage } from './read-options.js'
import { checkBaseline, runCatalogue } from './run-catalogue.js'
import { stopTests } from './run-tests.js'
import { isGood, listOf, summarise, tableOf } from './show-results.js'

const EXIT_FOUND = 1
const EXIT_USAGE = 2
const EXIT_INTERRUPTED = 130

const root = fileURLToPath(new URL('..', import.meta.url))

function optionsOf(args: readonly string[]): MutantOptions | undefined {
  try {
    return readOptions(args, catalogue)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(EXIT_USAGE)
  }
}

const options = optionsOf(process.argv.slice(2))
if (!options) console.log(usage)
else if (options.list) console.log(listOf(options.mutants))
else await run(options)

async function run({ mutants, jsonFile }: MutantOptions): Promise<void> {
  const say = (line: string) => process.stderr.write(`${line}\n`)
  const copy = await copyRepository(root)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stopTests()
      void copy.remove().finally(() => process.exit(EXIT_INTERRUPTED))
    })
  }
  try {
    say(`${mutants.length} mutants; first their tests without any`)
    const wrong = await checkBaseline({ copy, say }, mutants)
    if (wrong.length > 0) {
      for (const line of wrong) say(line)
      process.exitCode = EXIT_FOUND
      return
    }
    const results = await runCatalogue({ copy, say }, mutants)
    console.log(`${tableOf(results)}\n\n${summarise(results)}`)
    if (jsonFile) await writeFile(jsonFile, `${JSON.stringify(results, undefined, 2)}\n`)
    if (!isGood(results)) process.exitCode = EXIT_FOUND
  } finally {
    await copy.remove()
  }
}
