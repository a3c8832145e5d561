import { useMemo, useState } from 'react'
import { CopyButton } from './copy-button.js'
import { formatJson } from './format-json.js'
import { formatBytes } from './format-values.js'
import { Icon } from './icon.js'
import { Panel } from './page-layout.js'
import { TextArea } from './scroll-area.js'
import { showText } from './show-text.js'

/** Keeps the browser responsive; the download has the whole payload. */
const SHOWN_CHARACTERS_MAX = 100_000

/** A payload, always rendered as text. */
export function PayloadView({
  json,
  fileName,
  title = 'Payload',
}: {
  json: string
  fileName: string
  title?: string
}) {
  const [asItIs, setAsItIs] = useState(false)
  const shown = useMemo(() => {
    const part = json.slice(0, SHOWN_CHARACTERS_MAX)
    return showText(asItIs ? part : formatJson(part)).slice(0, 2 * SHOWN_CHARACTERS_MAX)
  }, [json, asItIs])
  const bytes = new TextEncoder().encode(json).length

  const download = () => {
    const address = URL.createObjectURL(new Blob([json], { type: 'application/json' }))
    const link = Object.assign(document.createElement('a'), { href: address, download: fileName })
    link.click()
    setTimeout(() => URL.revokeObjectURL(address), 1_000)
  }

  return (
    <Panel
      title={title}
      aside={
        <span className="flex items-center gap-2">
          <span className="text-soft">{formatBytes(bytes)}</span>
          <button type="button" className="button" aria-pressed={asItIs} onClick={() => setAsItIs(!asItIs)}>
            {asItIs ? 'Pretty' : 'Raw'}
          </button>
          <CopyButton text={json} label="payload" wide />
          <button type="button" className="button" onClick={download}>
            <Icon name="download" className="size-3.5" />
            Download
          </button>
        </span>
      }
    >
      <TextArea label={title} text={shown} className="max-h-96 px-4 py-3" />
      {json.length > SHOWN_CHARACTERS_MAX && (
        <p className="border-t border-line px-4 py-2 text-soft">
          The first {formatBytes(SHOWN_CHARACTERS_MAX)} are shown. Copy or download the payload to get all of
          it.
        </p>
      )}
    </Panel>
  )
}
