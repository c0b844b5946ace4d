// Loaded into a program under test, so that its memory can be compared: what is left after a collection is in use.
import process from 'node:process';

process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`bytes in use: ${heapUsed + external}\n`);
});
