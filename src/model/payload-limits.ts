/**
 * The largest payload that Sagapost reads, and the highest limit that `sagapost.limit_payloads` accepts. A larger
 * payload can only predate the limit.
 */
export const PAYLOAD_BYTES_READ_MAX = 16 * 1024 * 1024
