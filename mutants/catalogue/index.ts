import type { Mutant } from '../mutant.js'
import { access } from './access.js'
import { availability } from './availability.js'
import { deadLetters } from './dead-letters.js'
import { dns } from './dns.js'
import { events } from './events.js'
import { jobs } from './jobs.js'
import { payload } from './payload.js'
import { queues } from './queues.js'
import { routing } from './routing.js'
import { sagaMoves } from './saga-moves.js'
import { sagaResults } from './saga-results.js'
import { session } from './session.js'
import { stops } from './stops.js'
import { subscriptions } from './subscriptions.js'
import { unroutedEvents } from './unrouted.js'
import { webhookIds } from './webhookid.js'
import { worker } from './worker.js'

/** At least one for every rule of S, J, D, E, U and R: test/mutants/catalogue.test.ts holds that. */
export const catalogue: readonly Mutant[] = [
  ...sagaMoves,
  ...sagaResults,
  ...jobs,
  ...deadLetters,
  ...events,
  ...subscriptions,
  ...routing,
  ...queues,
  ...access,
  ...unroutedEvents,
  ...dns,
  ...webhookIds,
  ...stops,
  ...session,
  ...availability,
  ...worker,
  ...payload,
]
