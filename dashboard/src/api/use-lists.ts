import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { callApi, callForText, type Query } from './call-api.js'
import type { Page, Subscription } from './types.js'

const REFRESH_MS = 5_000

export interface List<Item> {
  items: Item[]
  /** True until the first response. */
  isLoading: boolean
  error: Error | null
  hasMore: boolean
  isLoadingMore: boolean
  more(): void
}

/** A paginated list, newest first. It refreshes while only its first page is shown. */
export function useList<Item>(path: string, query: Query = {}, enabled = true): List<Item> {
  const list = useInfiniteQuery({
    queryKey: [path, query],
    queryFn: ({ pageParam }) => callApi<Page<Item>>('GET', path, { query: { ...query, cursor: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
    enabled,
  })
  return {
    items: list.data?.pages.flatMap(({ data }) => data) ?? [],
    isLoading: list.isPending && enabled,
    error: list.error,
    hasMore: list.hasNextPage,
    isLoadingMore: list.isFetchingNextPage,
    more: () => void list.fetchNextPage(),
  }
}

/** One resource, polled while it may change. */
export function useOne<Item>(path: string, { refreshMs = REFRESH_MS, enabled = true } = {}) {
  return useQuery({
    queryKey: [path],
    queryFn: () => callApi<Item>('GET', path),
    refetchInterval: refreshMs,
    enabled,
  })
}

/** A resource as text, for payloads that are shown byte for byte. Fetched once, as it never changes. */
export function useText(path: string) {
  return useQuery({
    queryKey: [path, 'text'],
    queryFn: () => callForText('GET', path),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The newest subscriptions by id, for lists that hold only ids. Older ones are shown by id alone. */
export function useSubscriptionNames(): ReadonlyMap<string, Subscription> {
  const { data } = useQuery({
    queryKey: ['/v1/subscriptions', 'names'],
    queryFn: () => callApi<Page<Subscription>>('GET', '/v1/subscriptions', { query: { limit: 200 } }),
    staleTime: 30_000,
  })
  return new Map(data?.data.map((each) => [each.id, each]))
}
