import { cpus, release, totalmem, type } from 'node:os'

/** What the numbers depend on; no names, no paths. */
export interface Machine {
  cores: number
  cpu: string
  memoryGb: number
  system: string
  node: string
  postgres: string
}

export function describeMachine(postgres: string): Machine {
  const [first] = cpus()
  return {
    cores: cpus().length,
    cpu: first?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-')[0]}`,
    node: process.version,
    postgres,
  }
}
