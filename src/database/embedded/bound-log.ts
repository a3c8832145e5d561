import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs'

const logBytesMax = 10 * 1024 * 1024
const tailBytesMax = 64 * 1024

/**
 * Moves a log that is too long to `<log>.1`, replacing the previous one. The file is emptied rather than renamed
 * because the server holds it open for appending.
 */
export function boundLog(file: string, bytesMax = logBytesMax): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return
  copyFileSync(file, `${file}.1`)
  truncateSync(file)
}

/** Reads the log from a position on, at most its last 64 KiB. */
export function readLogSince(file: string, position: number): string {
  const fd = openSync(file, 'r')
  try {
    const size = statSync(file).size
    const start = Math.max(position, size - tailBytesMax)
    const buffer = Buffer.alloc(Math.max(0, size - start))
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, start))
  } finally {
    closeSync(fd)
  }
}

/** Finds the last error in a log, without its time and process. */
export function findReason(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '')
  const error = lines.findLast((line) => /\b(FATAL|PANIC|ERROR):|\berror: /.test(line)) ?? lines.at(-1)
  return (error ?? 'it said nothing').replace(/^.*?(FATAL|PANIC|ERROR|LOG|error): +/, '').trim()
}
