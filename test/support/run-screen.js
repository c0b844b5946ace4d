// Runs the compiled screen against a supervisor's socket, as the launcher would: the settings come from the
// environment, the outcome is printed on the restored terminal.
import { writeFileSync } from 'node:fs';

process.env.NODE_ENV = 'production';

const { runScreen } = await import('../../dist/components/render.js');
const { connectSupervisor } = await import('../../dist/src/client/supervisor-client.js');

const { SCREEN_SOCKET, SCREEN_OWNS, SCREEN_READ_ONLY, SCREEN_GLYPHS } = process.env;
const { SCREEN_CRASH_ON, SCREEN_SCRIBBLE_ON, SCREEN_PID_FILE, SCREEN_PROGRAM, SCREEN_THEME, SCREEN_READER } =
  process.env;
const client = connectSupervisor({ socketPath: SCREEN_SOCKET }, { owner: SCREEN_OWNS === '1' });

if (SCREEN_CRASH_ON) {
  process.on(SCREEN_CRASH_ON, () => {
    throw new Error('crashed on purpose');
  });
}
if (SCREEN_SCRIBBLE_ON)
  process.on(SCREEN_SCRIBBLE_ON, () => process.stdout.write(`\u001b[3;1H${'SCRIBBLE'.repeat(10)}`));
if (SCREEN_PID_FILE) writeFileSync(SCREEN_PID_FILE, String(process.pid));

try {
  const outcome = await runScreen({
    client,
    ownsSupervisor: SCREEN_OWNS === '1',
    readOnly: SCREEN_READ_ONLY === '1',
    glyphs: SCREEN_GLYPHS ?? 'ascii',
    ...(SCREEN_THEME && { theme: SCREEN_THEME }),
    ...(SCREEN_READER && { screenReader: true }),
    hostLabel: 'rig1:8080',
    ...(SCREEN_PROGRAM && { program: SCREEN_PROGRAM }),
  });
  console.log(`outcome ${outcome.reason}: ${outcome.message ?? 'nothing to say'}`);
} catch (error) {
  console.log(`failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  client.close();
}
