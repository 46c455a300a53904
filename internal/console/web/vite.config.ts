import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The build goes into the folder that the Go package embeds. While somebody
// works on the source, `npm run dev` serves it here and an instance with
// JUNCTOR_CONSOLE_DEV=http://127.0.0.1:5173 passes it on.
export default defineConfig({
  plugins: [react()],
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
