import type { SagaWithSteps } from '../api/index.js'
import { formatCount, formatTime, Panel, ScrollArea, showText } from '../parts/index.js'

/** The history of a saga, newest entry first. Entries never change. */
export function SagaHistory({ saga }: { saga: SagaWithSteps }) {
  const steps = new Map(saga.steps.map(({ index, name }) => [index, name]))
  return (
    <Panel title="History" aside={<span className="text-soft">{formatCount(saga.eventCount)} events</span>}>
      <ScrollArea label="History of the saga" className="max-h-[28rem]">
        <table className="w-full">
          <thead className="sticky top-0 bg-panel text-left text-xs text-faint">
            <tr className="border-b border-line">
              <th className="px-3 py-2 text-right font-medium">#</th>
              <th className="px-3 py-2 font-medium">What</th>
              <th className="px-3 py-2 font-medium">Step</th>
              <th className="hidden px-3 py-2 font-medium md:table-cell">Move</th>
              <th className="hidden px-3 py-2 font-medium lg:table-cell">Details</th>
              <th className="px-3 py-2 text-right font-medium">When</th>
            </tr>
          </thead>
          <tbody>
            {saga.events.toReversed().map((event) => (
              <tr key={event.sequence} className="border-b border-line last:border-0">
                <td className="px-3 py-1.5 text-right text-faint">{event.sequence}</td>
                <td className="mono px-3 py-1.5 whitespace-nowrap">{event.type}</td>
                <td className="px-3 py-1.5">
                  {event.stepIndex === null ? '' : showText(steps.get(event.stepIndex) ?? '')}
                </td>
                <td className="hidden px-3 py-1.5 whitespace-nowrap text-soft md:table-cell">
                  {event.oldState === event.newState
                    ? event.newState
                    : `${event.oldState} → ${event.newState}`}
                </td>
                <td
                  className="hidden w-full max-w-0 truncate px-3 py-1.5 text-soft lg:table-cell"
                  title={detailsOf(event)}
                >
                  {detailsOf(event)}
                </td>
                <td className="px-3 py-1.5 text-right whitespace-nowrap text-soft">
                  {formatTime(event.timestamp)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </Panel>
  )
}

function detailsOf({ data, error }: SagaWithSteps['events'][number]): string {
  const told = Object.entries(data ?? {}).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return showText([...told, ...(error ? [`${error.code} ${error.message}`] : [])].join(' · '))
}
