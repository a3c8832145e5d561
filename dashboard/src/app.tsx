import { useEffect, useRef, useState } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { LiveProvider, RightsProvider, type Session, useLive, useSession, useSignIn } from './api/index.js'
import {
  DeadLetterPage,
  DeadLettersPage,
  DeliveriesPage,
  DeliveryPage,
  EventPage,
  EventsPage,
  OverviewPage,
  SagaPage,
  SagasPage,
  SignInPage,
  SubscriptionPage,
  SubscriptionsPage,
  SystemPage,
} from './pages/index.js'
import {
  CrashBarrier,
  Dialog,
  EmptyState,
  Icon,
  type IconName,
  Page,
  ProblemNotice,
  places,
  Skeleton,
  useKeys,
} from './parts/index.js'
import { switchTheme, useTheme } from './theme.js'

export function App() {
  const { session, error } = useSession()
  if (error) {
    return (
      <main className="mx-auto max-w-lg p-8">
        <ProblemNotice error={error} />
      </main>
    )
  }
  if (session === undefined) return <Skeleton />
  if (session === null) return <SignInPage />
  return (
    <RightsProvider may={session.may}>
      <LiveProvider enabled={session.may.includes('read')}>
        <Shell session={session} />
      </LiveProvider>
    </RightsProvider>
  )
}

const views: readonly { href: string; name: string; icon: IconName; right: string }[] = [
  { href: '/', name: 'Overview', icon: 'overview', right: 'read' },
  { href: '/events', name: 'Events', icon: 'events', right: 'read' },
  { href: '/deliveries', name: 'Deliveries', icon: 'deliveries', right: 'read' },
  { href: '/subscriptions', name: 'Subscriptions', icon: 'subscriptions', right: 'readSubscriptions' },
  { href: '/dead-letters', name: 'Dead letters', icon: 'deadLetters', right: 'read' },
  { href: '/sagas', name: 'Sagas', icon: 'sagas', right: 'read' },
  { href: '/system', name: 'System', icon: 'system', right: 'read' },
]

function Shell({ session }: { session: Session }) {
  const [helps, setHelps] = useState(false)
  const [path] = useLocation()
  useKeys({ onHelp: () => setHelps(true), onTheme: switchTheme })
  const shown = views.filter(({ right }) => session.may.includes(right))
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="button button-primary absolute top-2 left-2 z-10 -translate-y-20 focus:translate-y-0"
      >
        Skip to content
      </a>
      <aside className="border-b border-line bg-panel md:sticky md:top-0 md:flex md:h-dvh md:flex-col md:border-r md:border-b-0">
        <div className="flex items-center justify-between gap-2 px-4 py-3">
          <Link href="/" className="flex items-center gap-2.5 font-semibold tracking-tight">
            <img src="/icon.svg" alt="" className="size-6" />
            Sagapost
          </Link>
          <span className="flex items-center gap-2 md:hidden">
            <Tools onHelp={() => setHelps(true)} />
          </span>
        </div>
        <Navigation views={shown} />
        <div className="mt-auto hidden border-t border-line p-3 md:block">
          <LiveState />
          <p className="mb-2 px-1 text-xs text-soft">
            Signed in with a key of scope <strong className="font-semibold text-ink">{session.scope}</strong>
          </p>
          <div className="flex items-center gap-1">
            <Tools onHelp={() => setHelps(true)} />
          </div>
        </div>
      </aside>
      <main id="content" className="mx-auto w-full max-w-[1400px] min-w-0 px-4 py-5 md:px-6">
        <CrashBarrier key={path}>
          {shown.length === 0 ? <NothingToSee scope={session.scope} /> : <Views may={session.may} />}
        </CrashBarrier>
      </main>
      {helps && <KeysDialog onClose={() => setHelps(false)} />}
    </div>
  )
}

function Views({ may }: { may: readonly string[] }) {
  return (
    <Switch>
      {may.includes('read') && <Route path="/" component={OverviewPage} />}
      <Route path="/">
        <SubscriptionsPage />
      </Route>
      <Route path="/events" component={EventsPage} />
      <Route path="/events/:id">{({ id }) => <EventPage key={id} id={id} />}</Route>
      <Route path="/deliveries" component={DeliveriesPage} />
      <Route path="/deliveries/:id">{({ id }) => <DeliveryPage key={id} id={id} />}</Route>
      <Route path="/subscriptions" component={SubscriptionsPage} />
      <Route path="/subscriptions/:id">{({ id }) => <SubscriptionPage key={id} id={id} />}</Route>
      <Route path="/dead-letters" component={DeadLettersPage} />
      <Route path="/dead-letters/:id">{({ id }) => <DeadLetterPage key={id} id={id} />}</Route>
      <Route path="/sagas" component={SagasPage} />
      <Route path="/sagas/:id">{({ id }) => <SagaPage key={id} id={id} />}</Route>
      <Route path="/system" component={SystemPage} />
      <Route>
        <Page title="Page not found">
          <EmptyState title="This page does not exist">
            <Link href="/" className="link">
              Go to the overview
            </Link>
          </EmptyState>
        </Page>
      </Route>
    </Switch>
  )
}

function Navigation({ views: shown }: { views: typeof views }) {
  const [path] = useLocation()
  const bar = useRef<HTMLElement>(null)
  // On a phone the navigation is a row that is wider than the screen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page that is open follows from the path
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  const isHere = (href: string) => (href === '/' ? path === '/' : path.startsWith(href))
  return (
    <nav ref={bar} aria-label="Pages" className="flex gap-0.5 overflow-x-auto px-2 pb-2 md:flex-col md:px-3">
      {shown.map(({ href, name, icon }) => (
        <Link
          key={href}
          href={href}
          aria-current={isHere(href) ? 'page' : undefined}
          className={`flex h-8 shrink-0 items-center gap-2.5 rounded-md px-2.5 ${
            isHere(href)
              ? 'bg-accent-wash font-medium text-accent'
              : 'text-soft hover:bg-raised hover:text-ink'
          }`}
        >
          <Icon name={icon} className="size-[17px]" />
          {name}
        </Link>
      ))}
    </nav>
  )
}

function LiveState() {
  const { isConnected } = useLive()
  return (
    <p className="mb-2 flex items-center gap-2 px-1 text-xs text-soft">
      <span className={`size-2 rounded-full ${isConnected ? 'bg-good' : 'bg-strong-line'}`} />
      {isConnected ? 'Live' : 'Disconnected'}
    </p>
  )
}

function Tools({ onHelp }: { onHelp: () => void }) {
  const { signOut } = useSignIn()
  const theme = useTheme()
  const look = 'grid size-8 place-items-center rounded-md text-soft hover:bg-raised hover:text-ink'
  return (
    <>
      <button
        type="button"
        className={look}
        aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'}
        title={theme === 'dark' ? 'Light theme (t)' : 'Dark theme (t)'}
        onClick={switchTheme}
      >
        <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
      </button>
      <button type="button" className={look} aria-label="Keys" title="Keys (?)" onClick={onHelp}>
        <Icon name="keyboard" />
      </button>
      <button
        type="button"
        className={look}
        aria-label="Sign out"
        title="Sign out"
        onClick={() => void signOut()}
      >
        <Icon name="signOut" />
      </button>
    </>
  )
}

function NothingToSee({ scope }: { scope: string }) {
  return (
    <EmptyState title="This key has no access to the dashboard">
      A key of scope {scope} can only publish. Sign out, then sign in with another key.
    </EmptyState>
  )
}

const keys: readonly (readonly [string, string])[] = [
  ['j, k', 'next and previous row of a list'],
  ['Enter', 'open the row'],
  ['/', 'to the search field'],
  ['t', 'light or dark'],
  ['?', 'these keys'],
  ...Object.entries(places).map(([key, { name }]) => [`g ${key}`, name] as const),
]

function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-2">
        {keys.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="mono rounded border border-line bg-raised px-1.5 py-0.5">{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
