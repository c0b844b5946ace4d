import { fileURLToPath } from 'node:url';
import type { FakeSupervisor } from './fake-supervisor.js';
import { startTerminal, type TestTerminal } from './terminal.js';

const RUN_SCREEN = fileURLToPath(new URL('run-screen.js', import.meta.url));

export interface ScreenSettings {
  readonly columns?: number;
  readonly rows?: number;
  readonly owns?: boolean;
  readonly readOnly?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the compiled screen in a terminal of its own, against a fake supervisor. */
export function startScreen(supervisor: FakeSupervisor, settings: ScreenSettings = {}): TestTerminal {
  return startTerminal({
    file: process.execPath,
    args: [RUN_SCREEN],
    columns: settings.columns ?? 120,
    rows: settings.rows ?? 36,
    env: {
      SCREEN_SOCKET: supervisor.socketPath,
      SCREEN_OWNS: settings.owns === true ? '1' : '0',
      SCREEN_READ_ONLY: settings.readOnly === true ? '1' : '0',
      FORCE_COLOR: '0',
      ...settings.env,
    },
  });
}
