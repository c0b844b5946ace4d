import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Everything that a run of the tests and its children put into the temporary directory lies in one place, and goes with
 * the run. The name is short: sockets below it have to fit into the 107 bytes that a socket's path may have.
 */
export default function oneTempDirectory(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'lt-'));
  // Tests run programs as another user too.
  chmodSync(directory, 0o755);
  process.env['TMPDIR'] = directory;
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
