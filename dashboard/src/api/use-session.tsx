import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { ApiProblem, callApi, SIGNED_OUT } from './call-api.js'
import type { Right, Session } from './types.js'

const key = ['session']

/** Null: not signed in. Undefined: not known yet. */
export function useSession(): { session: Session | null | undefined; error: Error | null } {
  const client = useQueryClient()
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: () =>
      callApi<Session>('GET', '/session').catch((problem: unknown) => {
        if (problem instanceof ApiProblem && problem.status === 401) return null
        throw problem
      }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  useEffect(() => {
    const signedOut = () => client.setQueryData(key, null)
    window.addEventListener(SIGNED_OUT, signedOut)
    return () => window.removeEventListener(SIGNED_OUT, signedOut)
  }, [client])
  return { session: data, error }
}

export function useSignIn(): { signIn(apiKey: string): Promise<void>; signOut(): Promise<void> } {
  const client = useQueryClient()
  return {
    async signIn(apiKey) {
      client.setQueryData(key, await callApi<Session>('POST', '/session', { key: apiKey }))
    },
    async signOut() {
      await callApi('DELETE', '/session')
      client.setQueryData(key, null)
      // The next user must not see data that was cached for this one.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] })
    },
  }
}

const Rights = createContext<ReadonlySet<string>>(new Set())

export function RightsProvider({ may, children }: { may: readonly string[]; children: ReactNode }) {
  return <Rights value={new Set(may)}>{children}</Rights>
}

/** Hides actions that the key does not allow; the server refuses them in any case. */
export function useMay(right: Right): boolean {
  return useContext(Rights).has(right)
}
