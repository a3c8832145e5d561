import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi, type DeliveryWithAttempts, useMay } from '../api/index.js'
import { ActionDialog } from '../parts/index.js'

const open = new Set(['Pending', 'InProgress', 'PendingRetry'])

export function CancelDelivery({ delivery, path }: { delivery: DeliveryWithAttempts; path: string }) {
  const may = useMay('cancelDeliveries')
  const [isAsking, setIsAsking] = useState(false)
  const client = useQueryClient()
  if (!may || !open.has(delivery.status)) return null
  const close = () => setIsAsking(false)
  return (
    <>
      <button type="button" className="button button-danger" onClick={() => setIsAsking(true)}>
        Cancel
      </button>
      {isAsking && (
        <ActionDialog
          title="Cancel delivery"
          action="Cancel delivery"
          danger
          onClose={close}
          onSubmit={async () => {
            await callApi('POST', `${path}/cancel`)
            close()
            await client.invalidateQueries({ queryKey: [path] })
          }}
        >
          <p>
            Nothing more is sent, but a request in flight is not aborted. The delivery ends as a dead letter,
            which can be requeued.
          </p>
        </ActionDialog>
      )}
    </>
  )
}
