import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './api/index.js'
import { App } from './app.js'
import './styles.css'
import { applyTheme } from './theme.js'

const RETRIES_MAX = 2

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // The server would refuse the same request again.
      retry: (failures, error) =>
        failures < RETRIES_MAX && !(error instanceof ApiProblem && error.status < 500),
    },
  },
})

applyTheme()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
