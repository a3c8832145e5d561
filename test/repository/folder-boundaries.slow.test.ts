import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

it.each([
  ['../database/index.js', true],
  ['../database/migrate.js', false],
  ['../database/embedded/index.js', false],
])('[O1] the lint rule lets a part import %s of another: %s', (path, accepted) => {
  const folder = mkdtempSync(join(tmpdir(), 'sagapost-boundaries-'))
  try {
    for (const name of ['src', 'biome.json', 'package.json', 'tsconfig.json']) {
      cpSync(join(root, name), join(folder, name), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    mkdirSync(join(folder, '.git'))
    const name = path.includes('embedded') ? 'startEmbeddedPostgres' : 'migrate'
    writeFileSync(
      join(folder, 'src/http/probe.ts'),
      `import { ${name} } from '${path}'\n\nexport const probe = ${name}\n`,
    )
    const { status, stdout, stderr } = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['lint', '--vcs-enabled=false', 'src/http/probe.ts'],
      { cwd: folder, encoding: 'utf8' },
    )
    const output = stdout + stderr
    expect([status === 0, output.includes('noPrivateImports')], output).toEqual([accepted, !accepted])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
