/** Whether the response body repeats the challenge, as `{"challenge": "…"}` or as plain text. */
export function answersChallenge(body: string | undefined, challenge: string): boolean {
  const text = body?.trim() ?? ''
  if (text === challenge) return true
  try {
    const answer: unknown = JSON.parse(text)
    return (
      typeof answer === 'object' && answer !== null && 'challenge' in answer && answer.challenge === challenge
    )
  } catch {
    return false
  }
}
