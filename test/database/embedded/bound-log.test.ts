import { appendFileSync, closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { boundLog, findReason, readLogSince } from '../../../src/database/embedded/bound-log.js'
import { makeFolder } from './make-folder.js'

it('[O2] moves a long log away under the running server, which goes on writing', () => {
  const file = join(makeFolder(), 'postgres.log')
  boundLog(file, 10)
  const server = openSync(file, 'a')
  writeSync(server, 'short\n')
  boundLog(file, 10)
  expect(readFileSync(file, 'utf8')).toBe('short\n')
  writeSync(server, 'and long\n')
  boundLog(file, 10)
  writeSync(server, 'new\n')
  expect(readFileSync(file, 'utf8')).toBe('new\n')
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('short\nand long\n')
  closeSync(server)
})

it('[O2] finds the line with the cause', () => {
  const stamp = '2026-01-01 00:00:00.000 UTC [1] '
  const log = `${stamp}LOG:  starting\n${stamp}FATAL:  could not lock\n${stamp}HINT:  wait\n${stamp}LOG:  shut down\n`
  expect(findReason(log)).toBe('could not lock')
  expect(findReason('sh: 1: not found\n\n')).toBe('sh: 1: not found')
  expect(findReason('')).toBe('it said nothing')
})

it('[O2] reads the log from a position on, even after it was emptied', () => {
  const file = join(makeFolder(), 'postgres.log')
  appendFileSync(file, 'old\nnew\n')
  expect(readLogSince(file, 4)).toBe('new\n')
  expect(readLogSince(file, 400)).toBe('')
})
