import type { WorkWindow } from '../../src/database/index.js'

/** All partitions are one range. */
export const wholeWindow = (): WorkWindow => ({
  fresh: { from: '0', to: '9223372036854775807' },
  older: [],
  borders: [],
})
