import { isIP } from 'node:net'
import pc from 'picocolors'
import { readConfig } from '../config/index.js'
import { describeRequest, toJsonLine } from './describe-request.js'
import { keepCertificate } from './keep-certificate.js'
import { planAnswers } from './plan-answers.js'
import { type ListenArguments, readListenOptions } from './read-listen-options.js'
import { runUntilStopped } from './run-until-stopped.js'
import { startListener } from './start-listener.js'
import { toJson } from './to-json.js'

/** Hosts that the certificate covers in addition to the one of --host. */
const OWN_HOSTS = ['localhost', '127.0.0.1', '::1']
const EVERY_ADDRESS = ['0.0.0.0', '::']

/** An HTTPS receiver for development: verifies, answers and prints requests, and fails on demand. */
export async function runListen(
  env: Readonly<Record<string, string | undefined>>,
  given: ListenArguments,
): Promise<void> {
  const { dataDir } = readConfig(env)
  const settings = readListenOptions(given)
  const { host, port, secrets } = settings
  await runUntilStopped(async (onStop) => {
    const certificate = await keepCertificate(
      dataDir,
      [...OWN_HOSTS, host].filter(
        (name, at, all) => !EVERY_ADDRESS.includes(name) && all.indexOf(name) === at,
      ),
    )
    const listener = await startListener({
      certificate,
      host,
      port,
      secrets: () => secrets,
      respond: planAnswers(settings),
      onRequest: (request) => console.log(given.json ? toJsonLine(request) : describeRequest(request)),
      onHandshakeFailed: (reason) =>
        console.error(`A sender failed to connect: ${reason} (does it trust ${certificate.authorityFile}?)`),
    })
    onStop(() => listener.stop())
    // When the reader closes the pipe (`| head`), stop cleanly. Once, as a second signal exits at once.
    process.stdout.once('error', () => process.kill(process.pid, 'SIGTERM'))
    process.stdout.on('error', () => {})

    if (given.json) {
      const { authorityFile } = certificate
      console.log(toJson({ kind: 'listening', url: listener.url, certificateAuthority: authorityFile }))
      return {}
    }
    console.log(`${pc.bold('Listening')} at ${pc.cyan(listener.url)} ${pc.dim('(Ctrl-C to stop)')}`)
    console.log('To deliver to it from this machine, start Sagapost with')
    console.log(
      `  NODE_EXTRA_CA_CERTS=${quote(certificate.authorityFile)} SAGAPOST_ALLOWED_CIDRS=${rangeOf(host)}`,
    )
    if (secrets.length === 0) console.log('No --secret given: signatures are not verified')
    return {}
  })
}

/** The range to allow in Sagapost, which by default calls public addresses only. */
function rangeOf(host: string): string {
  const loopback = isIP(host) === 0 || EVERY_ADDRESS.includes(host) || host.startsWith('127.')
  if (loopback) return '127.0.0.0/8,::1/128'
  return isIP(host) === 4 ? `${host}/32` : `${host}/128`
}

/** Quotes text for a shell. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
