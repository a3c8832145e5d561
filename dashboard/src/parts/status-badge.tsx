type Tone = 'good' | 'warn' | 'bad' | 'info' | 'mute'

const looks: Record<Tone, string> = {
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  info: 'bg-info-wash text-info',
  mute: 'bg-mute-wash text-soft',
}

/** The colours of the states of deliveries, attempts, sagas and steps. */
const tones: Record<string, Tone> = {
  Pending: 'mute',
  InProgress: 'info',
  Leased: 'info',
  Running: 'info',
  StepCompleted: 'info',
  PendingRetry: 'warn',
  Compensating: 'warn',
  Compensated: 'warn',
  TimedOut: 'warn',
  Completed: 'good',
  Failed: 'bad',
  DeadLettered: 'bad',
  Cancelled: 'mute',
  Skipped: 'mute',
}

export function toneOf(status: string): Tone {
  return tones[status] ?? 'mute'
}

export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span
      className={`inline-flex h-5 items-center align-middle gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap ${looks[tone]}`}
    >
      <span className="size-1.5 rounded-full bg-current" />
      {children}
    </span>
  )
}

export function StatusBadge({ status }: { status: string }) {
  return <Badge tone={toneOf(status)}>{status.replace(/([a-z])([A-Z])/g, '$1 $2')}</Badge>
}
