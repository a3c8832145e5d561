import { useEffect, useRef } from 'react'
import uPlot from 'uplot'

export interface Series {
  label: string
  /** A name of styles.css: `--series-a`. */
  color: string
  values: readonly (number | null)[]
  area?: boolean
}

interface ChartProps {
  /** Description for screen readers. */
  label: string
  /** Milliseconds since 1970, one for each value. */
  times: readonly number[]
  series: readonly Series[]
  format: (value: number) => string
  /** The minimum upper end of the scale, so that small values stay low. */
  least?: number
  /** The time range up to the last value; absent: all of the data. */
  spanMs?: number
}

const HEIGHT = 168

/** A line chart over time, redrawn when the theme, the width or the data change. */
export function Chart({ label, times, series, format, least = 1, spanMs }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shape = series.map(({ label: name, color }) => name + color).join()

  // biome-ignore lint/correctness/useExhaustiveDependencies: data comes by the second effect; this one is for the look
  useEffect(() => {
    const element = box.current
    if (!element) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(element, series, { format, least, spanMs }),
        dataOf(times, series),
        element,
      )
    }
    draw()
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    resized.observe(element)
    window.addEventListener('themechange', draw)
    return () => {
      resized.disconnect()
      window.removeEventListener('themechange', draw)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape])

  useEffect(() => plot.current?.setData(dataOf(times, series)), [times, series])

  const latest = series.map(({ label: name, values }) => {
    const value = values.at(-1)
    return `${name} ${value === null || value === undefined ? 'none' : format(value)}`
  })
  return (
    <figure>
      <div
        ref={box}
        role="img"
        aria-label={`${label}, now: ${latest.join(', ')}`}
        className="h-[168px] w-full"
      />
      <figcaption className="flex flex-wrap gap-x-4 gap-y-1 px-4 pt-1 pb-3 text-xs text-soft">
        {series.map(({ label: name, color, values }) => {
          const value = values.at(-1)
          return (
            <span key={name} className="inline-flex items-center gap-1.5">
              <span className="h-0.5 w-3 rounded" style={{ background: `var(${color})` }} />
              {name}
              <span className="font-medium text-ink">
                {value === null || value === undefined ? '–' : format(value)}
              </span>
            </span>
          )
        })}
      </figcaption>
    </figure>
  )
}

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

function formatClock(atS: number): string {
  return (atS % 60 === 0 ? hours : seconds).format(atS * 1000)
}

const SPARSE_VALUES_MAX = 12

function isSparse(values: uPlot.AlignedData[number] | undefined): boolean {
  return (
    [...(values ?? [])].filter((value) => value !== null && value !== undefined).length <= SPARSE_VALUES_MAX
  )
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [times.map((at) => at / 1000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  { format, least, spanMs }: { format: (value: number) => string; least: number; spanMs: number | undefined },
): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--faint'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [12, 12, 0, 4],
    cursor: { points: { size: 6 }, drag: { setScale: false } },
    legend: { show: false },
    scales: {
      ...(spanMs && {
        x: { range: (_plot: uPlot, _min: number, max: number) => [max - spanMs / 1000, max] },
      }),
      y: { range: (_plot, _min, max) => [0, Math.max(least, max * 1.15)] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        grid: { show: false },
        space: 70,
        values: (_plot, splits) => splits.map(formatClock),
      },
      { ...axis, size: 58, space: 36, values: (_plot, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map(
        ({ label, color: name, area }): uPlot.Series => ({
          label,
          stroke: color(name),
          width: 1.6,
          // A single value between gaps would be invisible as a line.
          points: { size: 4, show: (plot, index) => isSparse(plot.data[index]) },
          spanGaps: false,
          ...(area && { fill: `${color(name)}22` }),
        }),
      ),
    ],
  }
}
