const CALLBACK_URL_CHARACTERS_MAX = 500 // as in the column

/** The URL, or one sentence on why no request can be sent to it. */
export function parseCallbackUrl(
  text: string,
): URL | { code: 'callback_url_invalid' | 'callback_url_not_https'; detail: string } {
  const invalid = (detail: string) => ({ code: 'callback_url_invalid' as const, detail })
  if (text.length > CALLBACK_URL_CHARACTERS_MAX) {
    return invalid(`The callback URL is longer than ${CALLBACK_URL_CHARACTERS_MAX} characters`)
  }
  // WHATWG parsing drops tabs and line ends and reads \ as /: the stored URL would differ from the one used.
  if (/[\s\\\p{Cc}]/u.test(text)) {
    return invalid('The callback URL contains a space, a backslash or a control character')
  }
  if (!URL.canParse(text)) return invalid('The callback URL is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' || !/^https:\/\/[^/]/i.test(text)) {
    return { code: 'callback_url_not_https', detail: 'The callback URL does not begin with https://' }
  }
  if (url.username !== '' || url.password !== '') {
    return invalid('The callback URL contains a user name or password: use a header instead')
  }
  if (url.port === '0') return invalid('The callback URL names port 0')
  return url
}

/** The host as the resolver and the certificate use it: an IPv6 literal without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
}
