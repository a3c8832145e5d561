/** The child's side of start-child.ts: commands come in as messages and are answered by number. */

// biome-ignore lint/suspicious/noExplicitAny: what a command takes and returns is typed where it is defined
export type Commands = Record<string, (...args: any[]) => Promise<unknown>>

export interface Call {
  id: number
  name: string
  args: unknown[]
}

export type Answer = { id: number; result: unknown } | { id: number; error: string }

/** Serves the commands until `stop` is called, or until the parent is gone. Ctrl-C is the parent's to handle. */
export function answerCommands(commands: Commands & { stop(): Promise<void> }): void {
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(1))
  process.on('message', async ({ id, name, args }: Call) => {
    try {
      const result = await commands[name]?.(...args)
      reply({ id, result }, name === 'stop')
    } catch (error) {
      reply({ id, error: (error as Error).stack ?? String(error) }, false)
    }
  })
}

function reply(answer: Answer, last: boolean): void {
  process.send?.(answer, () => {
    if (last) process.exit(0)
  })
}
