import { Component, type ReactNode } from 'react'
import { ProblemNotice } from './notices.js'

/** Confines an error to the page that threw it; the others keep working. */
export class CrashBarrier extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    return this.state.error ? <ProblemNotice error={this.state.error} /> : this.props.children
  }
}
