/** Numbers that a seed brings back: the same seed, the same draws, on every machine. */
export interface Draw {
  /** From 0 to 1, without 1. */
  fraction(): number
  /** A whole number, both ends included. */
  between(least: number, most: number): number
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

/** Mulberry32: 32 bits of state are plenty for a few dozen draws. */
export function createDraw(seed: number): Draw {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(fraction() * (most - least + 1))
  return {
    fraction,
    between,
    chance: (probability) => fraction() < probability,
    pick(items) {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
