import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext }

/**
 * The process of saga-process.ts as JavaScript on the built package: started some eighty times, it takes a third of the
 * time that compiling each time would.
 */
export function useCompiledProcess(): () => string {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sagapost-process-'))
    for (const name of ['saga-process', 'random-definitions']) {
      const source = readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8')
      const { outputText } = ts.transpileModule(source, { compilerOptions })
      writeFileSync(
        join(folder, `${name}.js`),
        outputText.replaceAll(`'../../src/`, `'${join(root, 'dist')}/`),
      )
    }
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  return () => join(folder, 'saga-process.js')
}
