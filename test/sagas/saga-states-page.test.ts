import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import {
  type AuditedMachine,
  isFinal,
  sagaEventTypes,
  sagaMachine,
  sagaStepMachine,
} from '../../src/model/index.js'

const draw = <Status extends string>(machine: AuditedMachine<Status>): string =>
  [
    'stateDiagram-v2',
    `  [*] --> ${machine.initial}`,
    ...machine.moves.map(({ from, to, when }) => `  ${from} --> ${to}: ${when}`),
    ...machine.statuses.filter((status) => isFinal(machine, status)).map((status) => `  ${status} --> [*]`),
    '',
  ].join('\n')

const rowsOf = <Status extends string>(machine: AuditedMachine<Status>): string[] =>
  machine.moves.map(({ from, to, events, after = [] }) => {
    const names = [...events.map((type) => `\`${type}\``), ...after.map((type) => `(\`${type}\`)`)]
    return `| ${from} → ${to} | ${names.join(', ')} |`
  })

it('[G1, G2, G6] docs/reference/saga-states.md draws the machines of src and lists the events of every move', async () => {
  const page = await readFile(new URL('../../docs/reference/saga-states.md', import.meta.url), 'utf8')
  const drawings = [...page.matchAll(/^```mermaid\n(.*?)^```/gms)].map(([, block]) => block)
  expect(drawings).toEqual([draw(sagaMachine), draw(sagaStepMachine)])
  expect(page.split('\n').filter((line) => / → .*`/.test(line) && line.startsWith('|'))).toEqual([
    ...rowsOf(sagaMachine),
    ...rowsOf(sagaStepMachine),
  ])
})

it('[G6] every event type belongs to a move', () => {
  const written = [...sagaMachine.moves, ...sagaStepMachine.moves].flatMap(({ events, after = [] }) => [
    ...events,
    ...after,
  ])
  expect([...new Set(written)].sort()).toEqual([...sagaEventTypes].sort())
})
