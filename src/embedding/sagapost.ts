import type { Logger } from 'pino'
import { migrate, requireMigrated } from '../database/index.js'
import { publish } from '../delivery/index.js'
import { SagapostError } from '../errors/index.js'
import { type Stage, within } from '../loop/index.js'
import { createNotifier, type Notifier, type System, startSystem } from '../runtime/index.js'
import { adaptLog } from './adapt-log.js'
import { createContext, type OpenContext } from './create-context.js'
import { nameMissingSchema } from './name-missing-schema.js'
import { offerDeadLetters, offerDeliveries } from './offer-deliveries.js'
import { offerEvents } from './offer-events.js'
import { offerSagas } from './offer-sagas.js'
import { offerSubscriptions } from './offer-subscriptions.js'
import type {
  DeadLetterOperations,
  DeliveryOperations,
  EventOperations,
  SubscriptionOperations,
} from './operations.js'
import type { SagapostOptions } from './options.js'
import { inOptionNames, readOptions, type Settings } from './read-options.js'
import type { SagaOperations } from './saga-types.js'
import type { EventToPublish, QueryClient } from './types.js'

/**
 * Sagapost inside an application: publishes in the application's own transactions, and runs parts in its process. It
 * installs no signal handlers, never exits the process and prints nothing. The application must call `stop()`.
 */
export class Sagapost {
  readonly subscriptions: SubscriptionOperations
  readonly events: EventOperations
  readonly deliveries: DeliveryOperations
  readonly deadLetters: DeadLetterOperations
  readonly sagas: SagaOperations

  readonly #settings: Settings
  readonly #migrateFirst: boolean
  readonly #extraCertificateAuthorities: readonly string[]
  readonly #log: Logger
  readonly #context: OpenContext
  readonly #notifier: Notifier
  #system: System | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  readonly #stopped = new AbortController()
  #startedSagas = false

  /** Reads and checks the options without connecting. Throws `config_invalid` or `database_url_invalid`. */
  constructor(options: SagapostOptions) {
    this.#settings = readOptions(options)
    this.#migrateFirst = options.migrate === true
    this.#extraCertificateAuthorities = options.extraCertificateAuthorities ?? []
    this.#log = adaptLog(options.log)
    try {
      this.#context = createContext(this.#settings, {
        extraCertificateAuthorities: this.#extraCertificateAuthorities,
        wake: (stage) => this.#wake(stage),
      })
    } catch (error) {
      throw inOptionNames(error)
    }
    this.#notifier = createNotifier({ pool: this.#context.pool('saga_readonly_role'), log: this.#log })
    this.subscriptions = nameMissingSchema(offerSubscriptions(this.#context))
    this.events = nameMissingSchema(offerEvents(this.#context))
    this.deliveries = nameMissingSchema(offerDeliveries(this.#context))
    this.deadLetters = nameMissingSchema(offerDeadLetters(this.#context))
    this.sagas = nameMissingSchema(
      offerSagas({
        pool: this.#context.pool,
        wake: (stage) => this.#wake(stage),
        dataBox: this.#settings.sagas.dataBox,
        coordinator: () => (this.#stopping ? undefined : this.#system?.coordinator),
        stopped: this.#stopped.signal,
        onStartedIn: () => {
          this.#startedSagas = true
        },
      }),
    )
  }

  /** The URL of the API, or of health and metrics, while this instance serves them. */
  get url(): string | undefined {
    return this.#system?.url
  }

  /** Migrates the schema to the latest version and returns the applied migrations. Safe to call concurrently. */
  async migrate(): Promise<{ version: number; name: string }[]> {
    try {
      const applied = await migrate({ databaseUrl: this.#settings.databaseUrl })
      return applied.map(({ version, name }) => ({ version, name }))
    } catch (error) {
      throw inOptionNames(error)
    }
  }

  /**
   * Checks that the database is ready and starts the parts, once however often it is called. When it throws, nothing runs,
   * and it may be called again. After the start, the parts wait for a database that becomes unreachable.
   */
  start(): Promise<void> {
    if (this.#stopping) {
      return Promise.reject(
        new SagapostError('instance_stopped', 'this Sagapost instance was stopped; create a new one'),
      )
    }
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw inOptionNames(error)
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const { databaseUrl, config, parts, sagas } = this.#settings
    if (this.#migrateFirst) await this.migrate()
    await requireMigrated(databaseUrl)
    if (parts.length === 0) return
    this.#system = await startSystem({
      databaseUrl,
      config,
      only: parts,
      sagas,
      log: this.#log,
      metrics: this.#context.metrics,
      extraCertificateAuthorities: this.#extraCertificateAuthorities,
    })
  }

  /**
   * Finishes requests in flight, releases other leases and closes all connections. Permanent and repeatable: further calls
   * wait for the same stop.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    await this.#starting?.catch(() => {})
    const deadlineMs = performance.now() + this.#settings.config.stopDeadlineMs
    try {
      await this.#system?.stop()
    } finally {
      this.#system = undefined
      this.#stopped.abort()
      this.#notifier.stop()
      const leftMs = Math.max(0, deadlineMs - performance.now())
      await within(leftMs, this.#context.close(), () => this.#context.abandon())
    }
  }

  /**
   * Stores an event in the open transaction of `client`: it exists if and only if that transaction commits. The login needs
   * the role event_publisher. Returns the event's id. The router finds it within 200 ms of the commit, or at once after
   * `wake()`.
   */
  publish(client: QueryClient, event: EventToPublish): Promise<string> {
    return publish(client, event)
  }

  /** Call after a commit: the parts that wait for it poll at once, in this process or another. It never fails. */
  wake(): void {
    this.#wake('routing')
    if (this.#startedSagas) this.#wake('sagas')
  }

  /** Metrics of this instance and of the backlogs in the database, in the Prometheus format. */
  async metrics(): Promise<string> {
    this.#context.pool('saga_readonly_role')
    const { body } = await this.#context.metrics.render()
    return body
  }

  #wake(stage: Stage): void {
    if (this.#system) this.#system.wakeups.wake(stage)
    else this.#notifier.send(stage)
  }
}
