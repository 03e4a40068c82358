import { defineConfig } from "vite";

// The bundle is part of the program, so the names of its files are fixed and nothing is loaded from elsewhere.
export default defineConfig({
  build: {
    outDir: "../crates/cli/src/web/dist",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "[name].js",
        assetFileNames: "app[extname]",
      },
    },
  },
  server: { proxy: { "/api": process.env.INFORMER_WEB ?? "http://127.0.0.1:8090" } },
});
