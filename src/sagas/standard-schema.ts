/**
 * The common interface of validators (standardschema.dev, version 1), implemented by zod, valibot, arktype and others.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** `order.items.0: too small; …`: the issues in one line. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  return issues
    .map(({ path = [], message }) => {
      const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
      return place === '' ? message : `${place}: ${message}`
    })
    .join('; ')
}
