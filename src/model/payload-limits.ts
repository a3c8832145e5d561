/**
 * The largest payload that any part reads, and the highest limit that `sagapost.limit_payloads` takes: a larger one can only
 * be from before there was a limit.
 */
export const PAYLOAD_BYTES_READ_MAX = 16 * 1024 * 1024
