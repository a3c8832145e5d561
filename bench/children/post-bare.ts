/** The limit: the same posts with no database at all. */
import { makeBody } from '../harness/make-body.js'
import { createPoster, inFlight, type Poster } from '../harness/post-body.js'
import { answerCommands } from '../harness/talk-to-parent.js'

let poster: Poster
let concurrency = 1

const commands = {
  start: async (options: { url: string; authority: string; concurrency: number }) => {
    poster = createPoster(options)
    concurrency = options.concurrency
  },
  /** Resolves when all are answered. */
  enqueue: (count: number) => inFlight(count, concurrency, (index) => poster.post(makeBody(index))),
  stop: () => poster.close(),
}
export type BareCommands = typeof commands
answerCommands(commands)
