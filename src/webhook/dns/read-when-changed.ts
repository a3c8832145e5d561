import { readFileSync, statSync } from 'node:fs'

/**
 * Reads a system file again when it has changed; an unreadable file counts as empty. Synchronous, because promises use
 * one of libuv's threads, which no look-up may wait for, and checking such a file takes 8 µs.
 */
export function readWhenChanged<T>(path: string, parse: (text: string) => T): () => T {
  let seen: { version: string; content: T } | undefined
  return () => {
    const version = versionOf(path)
    if (seen?.version !== version) seen = { version, content: parse(readText(path)) }
    return seen.content
  }
}

function versionOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
  } catch {
    return ''
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
