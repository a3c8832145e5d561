import { readFileSync } from 'node:fs'
import { SagapostError } from '../errors/index.js'

/**
 * Reads a secret from the environment, or from the file that `<name>_FILE` names: secret stores mount files, and more
 * processes can read an environment than a file. A newline at the end of the file is removed.
 */
export function readSecret(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const value = env[name] || undefined
  const file = env[`${name}_FILE`] || undefined
  if (file === undefined) return value
  if (value !== undefined) throw invalid(`${name} and ${name}_FILE are both set; set one of them`)
  const text = readText(name, file).replace(/\r?\n$/, '')
  if (text === '') throw invalid(`${name}_FILE: ${file} is empty`)
  return text
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw invalid(`${name}_FILE: ${file} cannot be read (${code})`)
  }
}

function invalid(message: string): SagapostError {
  return new SagapostError('config_invalid', message)
}
