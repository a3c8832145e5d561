export interface ResolvedAddress {
  address: string
  family: number
}
