/** Returns the outcome of the work, or that of `late` when the work takes longer. The work itself continues. */
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
