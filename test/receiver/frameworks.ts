import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  type HandlerOptions,
  nodeHandler,
  type WebhookEvent,
} from '../../src/receiver/index.js'

export type Options = Pick<HandlerOptions<unknown>, 'bodyBytesMax' | 'onError' | 'now' | 'toleranceMs'> & {
  secret: HandlerOptions<unknown>['secret']
  onEvent: (event: WebhookEvent) => unknown
}

interface Reply {
  status: number
  headers: Headers
  text: string
}

export interface Application {
  send(init: RequestInit & { duplex?: 'half' }): Promise<Reply>
  stop(): Promise<void>
}

type Start = (options: Options) => Promise<Application>

const path = '/hooks'

function overHttp(port: number, stop: () => Promise<unknown>): Application {
  return {
    async send(init) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    async stop() {
      await stop()
    },
  }
}

async function listen(listener: Parameters<typeof createServer>[1]): Promise<Application> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return overHttp((server.address() as AddressInfo).port, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}

/** Every framework for real. Next's router calls what a route file exports with a Request; so does this. */
export const frameworks: Record<string, Start> = {
  'node:http': (options) => listen(nodeHandler(options)),
  express: (options) => listen(express().use(path, expressHandler(options))),
  'express behind express.raw': (options) =>
    listen(
      express()
        .use(express.raw({ type: '*/*', limit: '10mb' }))
        .use(path, expressHandler(options)),
    ),
  'express behind a parser that keeps the bytes': (options) =>
    listen(
      express()
        .use(
          express.json({
            limit: '10mb',
            strict: false,
            verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
          }),
        )
        .use(path, expressHandler(options)),
    ),
  async fastify(options) {
    const app = fastify({ forceCloseConnections: true })
    app.register(fastifyPlugin, { prefix: path, ...options })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return overHttp((app.server.address() as AddressInfo).port, () => app.close())
  },
  async hono(options) {
    const handler = fetchHandler(options)
    const app = new Hono().all(path, (context) => handler(context.req.raw))
    const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
      const started = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(started))
    })
    return overHttp((server.address() as AddressInfo).port, async () => {
      if ('closeAllConnections' in server) server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
  },
  async next(options) {
    const POST = fetchHandler(options)
    return {
      async send(init) {
        const response = await POST(new Request(`https://app.example${path}`, init))
        return { status: response.status, headers: response.headers, text: await response.text() }
      },
      stop: async () => {},
    }
  },
}
