/** The outcome of the work, or what `late` makes of it when that takes longer. The work itself goes on. */
export async function within<Value, Late>(
  ms: number,
  work: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  try {
    const ended = await Promise.race([work.then((value) => ({ value })), over])
    return ended === null ? late() : ended.value
  } finally {
    clearTimeout(timer)
  }
}
