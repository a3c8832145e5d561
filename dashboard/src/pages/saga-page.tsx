import { type SagaWithSteps, useOne } from '../api/index.js'
import {
  Badge,
  Facts,
  LongValue,
  Page,
  Panel,
  PayloadView,
  ProblemNotice,
  Skeleton,
  StatusBadge,
  showText,
  Time,
} from '../parts/index.js'
import { SagaActions } from './saga-actions.js'
import { SagaGraph } from './saga-graph.js'
import { SagaHistory } from './saga-history.js'

export function SagaPage({ id }: { id: string }) {
  const path = `/v1/sagas/${encodeURIComponent(id)}`
  const { data: saga, error } = useOne<SagaWithSteps>(path, { refreshMs: 2_000 })
  return (
    <Page
      title={saga ? showText(saga.definition) : 'Saga'}
      back={{ href: '/sagas', label: 'Sagas' }}
      badge={
        saga && (
          <>
            <StatusBadge status={saga.state} />
            {saga.awaitingOperator && <Badge tone="bad">Waiting for an operator</Badge>}
          </>
        )
      }
      actions={saga && <SagaActions saga={saga} path={path} />}
    >
      {error && <ProblemNotice error={error} />}
      {!saga && !error && <Skeleton />}
      {saga && (
        <>
          <Panel title="Saga">
            <Facts
              facts={(
                [
                  ['Id', <LongValue key="id" text={saga.id} label="id" />, 'long'],
                  ['Version', saga.definitionVersion],
                  ['Trace id', saga.traceId && <LongValue text={saga.traceId} label="trace id" />, 'long'],
                  ['Key', saga.key && <LongValue text={saga.key} shown={showText(saga.key)} label="key" />],
                  ['Name', saga.name && showText(saga.name)],
                  ['Description', saga.description && showText(saga.description)],
                  ['Started', <Time key="started" at={saga.createdAt} whole />],
                  ['Changed', <Time key="changed" at={saga.updatedAt} whole />],
                  ['Ended', saga.completedAt && <Time at={saga.completedAt} whole />],
                  ['Deadline', saga.deadlineAt && <Time at={saga.deadlineAt} whole />],
                  ['Resumes', saga.wakeAt && !saga.completedAt && <Time at={saga.wakeAt} />],
                  [
                    'Coordinator',
                    saga.leaseOwner && <span className="mono">{showText(saga.leaseOwner)}</span>,
                  ],
                  ['Cancelled by', saga.cancelRequestedBy && showText(saga.cancelRequestedBy)],
                  ['Reason', saga.cancelReason && showText(saga.cancelReason)],
                ] as const
              ).filter(([, value]) => Boolean(value))}
            />
            {saga.error && (
              <p className="border-t border-line px-4 py-2 text-bad">
                <span className="mono">{showText(saga.error.code)}</span> {showText(saga.error.message)}
              </p>
            )}
          </Panel>
          <SagaGraph saga={saga} />
          <div className={saga.result == null ? undefined : 'grid gap-x-4 lg:grid-cols-2'}>
            <PayloadView
              title="Input"
              json={JSON.stringify(saga.input ?? null)}
              fileName={`saga-${saga.id}-input.json`}
            />
            {saga.result != null && (
              <PayloadView
                title="Result"
                json={JSON.stringify(saga.result ?? null)}
                fileName={`saga-${saga.id}-result.json`}
              />
            )}
          </div>
          <SagaHistory saga={saga} />
        </>
      )}
    </Page>
  )
}
