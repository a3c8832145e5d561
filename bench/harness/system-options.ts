/** What every system that is measured gets. */
export interface SystemOptions {
  databaseUrl: string
  /** The receiver's. */
  url: string
  /** PEM of the receiver's certificate authority. */
  authority: string
  /** Requests in flight at once. */
  concurrency: number
}
