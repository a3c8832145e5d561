import { deliveryMachine } from '../../../src/model/index.js'
import { toneOf } from '../parts/index.js'

/** The position of each state; the transitions come from the state machine. */
const places: Record<string, { x: number; y: number }> = {
  Pending: { x: 10, y: 30 },
  InProgress: { x: 190, y: 30 },
  Completed: { x: 370, y: 30 },
  PendingRetry: { x: 190, y: 110 },
  DeadLettered: { x: 370, y: 110 },
}
const WIDTH = 126
const HEIGHT = 34

const colors: Record<string, string> = {
  good: 'var(--good)',
  warn: 'var(--warn)',
  bad: 'var(--bad)',
  info: 'var(--info)',
  mute: 'var(--soft)',
}

/** The state machine of deliveries, with the state of this one marked. */
export function StateDiagram({ status, attemptCount }: { status: string; attemptCount: number }) {
  const passed = passedStates(status, attemptCount)
  return (
    <svg
      viewBox="0 0 506 160"
      className="mx-auto w-full max-w-2xl px-4 py-3"
      role="img"
      aria-label={`State machine: the delivery is ${status}`}
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0 8 4 0 8z" fill="var(--strong-line)" />
        </marker>
      </defs>
      {deliveryMachine.moves.map(({ from, to, when }) => (
        <path
          key={from + to}
          d={wayOf(from, to)}
          fill="none"
          stroke="var(--strong-line)"
          strokeWidth="1.5"
          markerEnd="url(#arrow)"
        >
          <title>{`${from} to ${to}: ${when}`}</title>
        </path>
      ))}
      {deliveryMachine.statuses.map((state) => {
        const { x, y } = places[state] as { x: number; y: number }
        const isHere = state === status
        const color = isHere
          ? colors[toneOf(state)]
          : passed.has(state)
            ? 'var(--soft)'
            : 'var(--strong-line)'
        return (
          <g key={state}>
            <rect
              x={x}
              y={y}
              width={WIDTH}
              height={HEIGHT}
              rx="8"
              fill="var(--panel)"
              stroke={color}
              strokeWidth={isHere ? 2.5 : 1.2}
            />
            <text
              x={x + WIDTH / 2}
              y={y + HEIGHT / 2 + 4.5}
              textAnchor="middle"
              fontSize="13"
              fontWeight={isHere ? 650 : 450}
              fill={isHere ? color : passed.has(state) ? 'var(--ink)' : 'var(--faint)'}
            >
              {state.replace(/([a-z])([A-Z])/g, '$1 $2')}
            </text>
          </g>
        )
      })}
    </svg>
  )
}

function wayOf(from: string, to: string): string {
  const a = places[from] as { x: number; y: number }
  const b = places[to] as { x: number; y: number }
  if (a.y === b.y) return `M${a.x + WIDTH} ${a.y + HEIGHT / 2}H${b.x}`
  // Down on the left and up on the right, as the two directions are separate transitions.
  const down = a.y < b.y
  const x = a.x + (down ? WIDTH * 0.35 : WIDTH * 0.65)
  return `M${x} ${down ? a.y + HEIGHT : a.y}V${down ? b.y : b.y + HEIGHT}`
}

function passedStates(status: string, attemptCount: number): ReadonlySet<string> {
  const passed = new Set(['Pending'])
  if (status !== 'Pending') passed.add('InProgress')
  if (attemptCount > 1 || status === 'PendingRetry' || status === 'DeadLettered') passed.add('PendingRetry')
  return passed
}
