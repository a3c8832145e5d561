import { cpus, release, totalmem, type } from 'node:os'

/** What the numbers depend on; no names, no paths. */
export interface Machine {
  cores: number
  cpu: string
  memoryGb: number
  system: string
  node: string
  /** Its version, and what its compiler optimised for: -Os is for size, as distributions do not. */
  postgres: string
}

export function describeMachine({ version, optimised }: { version: string; optimised: string }): Machine {
  const [first] = cpus()
  return {
    cores: cpus().length,
    cpu: first?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-')[0]}`,
    node: process.version,
    postgres: `${version} (${optimised})`,
  }
}
