import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import type { Snapshot } from './types.js'

/** Five minutes at one snapshot every two seconds. */
const SNAPSHOTS_MAX = 150

export interface Live {
  /** Oldest first. */
  snapshots: readonly Snapshot[]
  isConnected: boolean
}

const Stream = createContext<Live>({ snapshots: [], isConnected: false })

/** One stream, shared by all views of the page. */
export function LiveProvider({ enabled, children }: { enabled: boolean; children: ReactNode }) {
  const [live, setLive] = useState<Live>({ snapshots: [], isConnected: false })
  useEffect(() => {
    if (!enabled) return
    const source = new EventSource('/v1/live')
    source.onmessage = ({ data }) => {
      const snapshot = JSON.parse(data) as Snapshot
      setLive(({ snapshots }) => ({
        isConnected: true,
        snapshots: [...snapshots.slice(1 - SNAPSHOTS_MAX), snapshot],
      }))
    }
    source.onerror = () => setLive(({ snapshots }) => ({ snapshots, isConnected: false }))
    return () => source.close()
  }, [enabled])
  return <Stream value={live}>{children}</Stream>
}

export function useLive(): Live {
  return useContext(Stream)
}
