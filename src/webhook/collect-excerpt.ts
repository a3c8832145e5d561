const EXCERPT_CHARACTERS_MAX = 2_000

/** Enough bytes for that many characters of any length, so that a character cut here is also cut off below. */
const EXCERPT_BYTES_MAX = 4 * EXCERPT_CHARACTERS_MAX

/** Keeps the beginning of a response and counts the rest. */
export class ExcerptCollector {
  bytesSeen = 0
  readonly #chunks: Buffer[] = []

  add(chunk: Buffer): void {
    const room = EXCERPT_BYTES_MAX - this.bytesSeen
    this.bytesSeen += chunk.length
    // Copied, because a slice would hold on to the socket's whole 64 KiB buffer.
    if (room > 0) this.#chunks.push(Buffer.from(chunk.subarray(0, room)))
  }

  /** Valid text for PostgreSQL, which cannot store U+0000: that and invalid UTF-8 become U+FFFD. */
  text(): string {
    return Buffer.concat(this.#chunks)
      .toString('utf8')
      .replaceAll('\0', '\ufffd')
      .slice(0, EXCERPT_CHARACTERS_MAX)
      .replace(/[\ud800-\udbff]$/, '') // half of a surrogate pair split by the cut
  }
}
