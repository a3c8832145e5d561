import tailwind from '@tailwindcss/vite'
import { defineConfig } from 'vite'

/** Built into the package, beside the server that serves it. */
export default defineConfig({
  plugins: [tailwind()],
  build: {
    outDir: '../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // Every asset is a file of its own: the policy of the page allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      // "use client" is for servers that render; here everything is the client's.
      onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
    },
  },
})
