import { hostname } from 'node:os'
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import type { LogLevel } from '../../config/index.js'
import { packageVersion } from '../../package-version.js'
import { redactFields } from './redact-fields.js'

const STDOUT = 1

export interface LogOptions {
  level?: LogLevel | undefined
  /** A file descriptor (2 is stderr) or a stream. */
  destination?: number | DestinationStream
}

/**
 * The one set-up of all logs: JSON lines, times in UTC, nothing confidential. docs/operating/logs.md has the fields.
 * What a child logger is bound to is written as it is (pino has no hook for it): bind ids, nothing else.
 */
export function createLog({ level = 'info', destination = STDOUT }: LogOptions = {}): Logger {
  return pino(
    {
      level,
      base: { service: 'sagapost', version: packageVersion(), pid: process.pid, hostname: hostname() },
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: redactFields,
      },
      serializers: { err: (error: Error) => redactFields({ ...stdSerializers.err(error) }) },
    },
    typeof destination === 'number' ? pino.destination(destination) : destination,
  )
}
