export { Chart, type Series } from './chart.js'
export { CopyButton, LongValue } from './copy-button.js'
export { CrashBarrier } from './crash-barrier.js'
export { type Column, DataList, NothingFound } from './data-list.js'
export { ActionDialog, Dialog, Field } from './dialog.js'
export {
  ErrorFilter,
  EventTypeFilter,
  PeriodFilter,
  periodOf,
  SubscriptionFilter,
} from './filter-fields.js'
export { FilterBar, FilterField, FilterSelect, textOf, useFilters } from './filters.js'
export {
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatShare,
  formatSpan,
} from './format-values.js'
export { Icon, type IconName } from './icon.js'
export { EmptyState, ProblemNotice, Skeleton } from './notices.js'
export { Facts, Page, Panel } from './page-layout.js'
export { PayloadView } from './payload-view.js'
export { ScrollArea, TextArea } from './scroll-area.js'
export { showText } from './show-text.js'
export { Badge, StatusBadge, toneOf } from './status-badge.js'
export { Countdown, formatTime, Time } from './time.js'
export { places, useKeys } from './use-keys.js'
