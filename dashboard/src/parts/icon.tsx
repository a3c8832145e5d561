/** Our own line icons on a 24 by 24 grid. */
const paths = {
  overview: 'M4 13h4l3-8 4 14 3-6h2',
  events: 'M5 6h14M5 12h14M5 18h9',
  deliveries: 'M4 12h13m-5-6 6 6-6 6',
  subscriptions: 'M12 4a5 5 0 0 1 5 5v4l2 3H5l2-3V9a5 5 0 0 1 5-5zm-2 15h4',
  deadLetters: 'M4 7h16v11H4zM4 7l8 6 8-6M9 21l6-6m-6 0 6 6',
  sagas: 'M6 5h5v5H6zM13 14h5v5h-5zM8.5 10v6.500h4.500',
  system: 'M5 5h14v5H5zM5 14h14v5H5zM8 7.500h.01M8 16.500h.01',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'm5 12 5 5 9-10',
  download: 'M12 4v11m-5-5 5 5 5-5M5 20h14',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.500 1.500m11 11L19 19M5 19l1.500-1.500m11-11L19 5',
  moon: 'M20 14.500A8 8 0 1 1 9.500 4a6.500 6.500 0 0 0 10.500 10.500z',
  signOut: 'M10 5H5v14h5M14 8l4 4-4 4m4-4H9',
  keyboard: 'M3 7h18v10H3zM7 10.500h.01M11 10.500h.01M15 10.500h.01M8 14h8',
  close: 'm6 6 12 12M18 6 6 18',
  alert: 'M12 4 2.500 20h19L12 4zm0 6v4m0 3h.01',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zm4.500 10.500L20 20',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, className = 'size-4' }: { name: IconName; className?: string }) {
  return (
    <svg
      viewBox="0 0 24 24"
      className={`shrink-0 ${className}`}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}
