import type { ChildProcessHandle, SpawnChildOptions } from '../../src/engines/child-process.js';
import { spawnChild } from '../../src/engines/child-process.js';
import type { Command, ExitEvidence } from '../../src/engines/engine.js';
import type { ChildMessage } from '../../src/engines/messages.js';
import { createProtocolReader } from '../../src/engines/protocol.js';

export interface Watched {
  readonly handle: ChildProcessHandle;
  readonly messages: readonly ChildMessage[];
  readonly log: readonly string[];
  readonly exits: readonly ExitEvidence[];
  readonly exited: Promise<ExitEvidence>;
}

/** A command that runs a piece of JavaScript in a Node of its own. */
export function script(source: string): Command {
  return {
    file: process.execPath,
    args: ['--input-type=module', '-e', source],
    env: { PATH: process.env['PATH'] ?? '' },
  };
}

/** Starts a command and keeps everything that it says. */
export function watch(
  command: Command,
  options: Partial<Pick<SpawnChildOptions, 'logLines' | 'reader'>> = {},
): Watched {
  const messages: ChildMessage[] = [];
  const log: string[] = [];
  const exits: ExitEvidence[] = [];
  const { promise: exited, resolve } = Promise.withResolvers<ExitEvidence>();
  const handle = spawnChild({
    command,
    reader: createProtocolReader(),
    ...options,
    onMessage: (message) => messages.push(message),
    onLog: (line) => log.push(line),
    onExit: (evidence) => {
      exits.push(evidence);
      resolve(evidence);
    },
  });
  return { handle, messages, log, exits, exited };
}
