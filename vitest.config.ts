import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/one-temp-directory.ts'],
    // Real children, real terminals and a slow shared machine: limits catch hangs, they measure nothing.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers only make the real children miss their deadlines.
    maxWorkers: 2,
    env: { NODE_ENV: 'test' },
  },
});
export default config;
