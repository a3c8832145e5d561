import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import { defineConfig, type Plugin } from 'vite'

/** Packed once, when it is built: the server has nothing to do but to send it. */
const packFiles: Plugin = {
  name: 'pack-files',
  writeBundle({ dir = '' }, bundle) {
    for (const file of Object.values(bundle)) {
      const content = file.type === 'chunk' ? file.code : file.source
      if (/\.(js|css)$/.test(file.fileName)) {
        writeFileSync(join(dir, `${file.fileName}.br`), brotliCompressSync(content))
      }
    }
  },
}

/** Built into the package, beside the server that serves it. */
export default defineConfig({
  plugins: [tailwind(), packFiles],
  // `npx vite dashboard`, beside `npm start`: the page as it is being written, on the data of the running system.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/session': 'http://127.0.0.1:8080' } },
  build: {
    outDir: '../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // Every asset is a file of its own: the policy of the page allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      // "use client" is for servers that render; here everything is the client's.
      onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
    },
  },
})
