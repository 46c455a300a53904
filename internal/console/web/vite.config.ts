import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The build goes into the folder that the Go package embeds. While somebody
// works on the source, `npm run dev` serves it here and an instance with
// JUNCTOR_CONSOLE_DEV=http://127.0.0.1:5173 passes it on.
export default defineConfig({
  plugins: [react()],
  // Components are tested in jsdom; the other tests need only Node.
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.tsx'],
    setupFiles: ['src/test/setup.ts'],
    css: false,
    isolate: false,
    testTimeout: 300_000, // the whole suite runs beside them, at a higher priority
  },
  server: { host: '127.0.0.1', port: 5173, strictPort: true, hmr: { host: '127.0.0.1', port: 5173 } },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
});
