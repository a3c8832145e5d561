import type pg from 'pg'
import { createWindowReader, type WorkWindow } from '../../src/database/work-window.js'

/** The window as it is now. */
export const readWorkWindow = (pool: pg.Pool): Promise<WorkWindow> => createWindowReader(pool)()
