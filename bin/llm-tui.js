#!/usr/bin/env node
// Plain JavaScript on purpose: it must run on a Node too old for the program, to say so or to find a newer one.
// It sets what has to be set before any module loads: NODE_ENV for React, colours for Ink and chalk.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MINIMUM_MAJOR = 22;
/** Set for a program that was restarted with a newer Node. */
const LAUNCHED = 'LLM_TUI_LAUNCHED';
/** Flags may stand before the command. */
const isServe = process.argv.slice(2).includes('serve');
const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (Number(process.versions.node.split('.')[0]) >= MINIMUM_MAJOR) await start();
else restartWithNewerNode();

async function start() {
  process.env.NODE_ENV = 'production';
  // Ink and chalk know FORCE_COLOR, not NO_COLOR. An empty NO_COLOR does not count (no-color.org).
  if (process.env.NO_COLOR || process.env.TERM === 'dumb') process.env.FORCE_COLOR = '0';
  endWithLauncher();
  const program = join(root, 'dist', 'src', 'cli', 'main.js');
  if (!existsSync(program)) {
    console.error('llm-tui is not built yet: run `npm ci` (or `npm run build`) in ' + root + ' first.');
    process.exit(1);
  }
  const { main } = await import(program);
  await main(process.argv.slice(2));
}

/** The channel to a launcher breaks when that is gone, even by SIGKILL: this then ends as with its terminal. */
function endWithLauncher() {
  if (process.env[LAUNCHED] === undefined) return;
  delete process.env[LAUNCHED];
  // To `serve` a hang-up means something else.
  const signal = isServe ? 'SIGTERM' : 'SIGHUP';
  process.once('disconnect', () => process.kill(process.pid, signal));
  process.channel?.unref();
}

function restartWithNewerNode() {
  const node = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(node)) {
    console.error(
      `llm-tui needs Node ${MINIMUM_MAJOR} or newer; this is ${process.versions.node}. ` +
        'Install a newer Node, or run `npm ci` in ' +
        root +
        ', which fetches one.',
    );
    process.exit(1);
  }
  const child = spawn(node, process.argv.slice(1), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [LAUNCHED]: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGCONT']) {
    // A terminal sends Ctrl-C and hang-up to the whole foreground group, so the child may have the signal already: serve
    // takes two that come within moments as one. A screen reads Ctrl-C as a key and ends by hang-up itself.
    process.on(signal, () => {
      if (signal !== 'SIGHUP' || isServe) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`llm-tui could not start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
