import type { Mutant } from '../mutant.js'
import { access } from './access.js'
import { availability } from './availability.js'
import { backlogs } from './backlogs.js'
import { deadLetters } from './dead-letters.js'
import { deliveryLists } from './delivery-lists.js'
import { dns } from './dns.js'
import { doctor } from './doctor.js'
import { doctorFindings } from './doctor-findings.js'
import { events } from './events.js'
import { generalSagas } from './general-sagas.js'
import { jobs } from './jobs.js'
import { loginMutants } from './logins.js'
import { madeDeliveriesMutants } from './made-deliveries.js'
import { madeJobsMutants } from './made-jobs.js'
import { partitions } from './partitions.js'
import { payload } from './payload.js'
import { pieces } from './pieces.js'
import { queues } from './queues.js'
import { readRangesMutants } from './read-ranges.js'
import { routing } from './routing.js'
import { sagaMoves } from './saga-moves.js'
import { sagaRecords } from './saga-records.js'
import { sagaResults } from './saga-results.js'
import { sagaUpkeep } from './saga-upkeep.js'
import { scenarioMutants } from './scenarios.js'
import { session } from './session.js'
import { stops } from './stops.js'
import { subscriptions } from './subscriptions.js'
import { system } from './system.js'
import { unroutedEvents } from './unrouted.js'
import { webhookIds } from './webhookid.js'
import { worker } from './worker.js'

/** At least one for every rule: test/mutants/catalogue.test.ts holds that. */
export const catalogue: readonly Mutant[] = [
  ...sagaMoves,
  ...sagaResults,
  ...jobs,
  ...madeDeliveriesMutants,
  ...madeJobsMutants,
  ...deadLetters,
  ...deliveryLists,
  ...events,
  ...subscriptions,
  ...routing,
  ...pieces,
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
  ...sagaRecords,
  ...generalSagas,
  ...sagaUpkeep,
  ...system,
  ...loginMutants,
  ...scenarioMutants,
  ...doctor,
  ...doctorFindings,
  ...backlogs,
  ...partitions,
  ...readRangesMutants,
]
