import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { ApiProblem, callApi, SIGNED_OUT } from './call-api.js'
import type { Right, Session } from './types.js'

const key = ['session']

/** Null: nobody is signed in. Undefined: not known yet. */
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
      // Whoever signs in next sees nothing that this one was shown.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] })
    },
  }
}

const Rights = createContext<ReadonlySet<string>>(new Set())

export function RightsProvider({ may, children }: { may: readonly string[]; children: ReactNode }) {
  return <Rights value={new Set(may)}>{children}</Rights>
}

/** What is not allowed is not offered; the server refuses it all the same. */
export function useMay(right: Right): boolean {
  return useContext(Rights).has(right)
}
