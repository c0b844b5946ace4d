/**
 * Sends random requests to a router with simulated models, then lets a thousand clients leave in the middle:
 * `node --import ./scripts/typescript.js scripts/fuzz-router.ts --runs 20000 [--seed 1] [--halves 1000] [--aborts 200]`,
 * after `npm run build`. Exit code 1 with the requests that were answered wrongly, or what is left of the clients.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Snapshot } from '../src/client/types.js';
import { fuzzRouter, rssOf } from '../test/support/router-fuzz.js';
import { storm } from '../test/support/router-storm.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    halves: { type: 'string', default: '1000' },
    aborts: { type: 'string', default: '200' },
  },
});
const seed = Number(values.seed);
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

const directory = mkdtempSync(join(tmpdir(), 'llm-tui-fuzz-'));
const preset = join(directory, 'models.ini');
const model = 'sim-size = 6GiB\nsim-load-seconds = 0.2\nsim-tokens-per-second = 200\n';
writeFileSync(preset, `[small]\n${model}\n[other]\n${model}`);
const flags = ['--engine', 'sim', '--sim-devices', 'CUDA0=10GiB', '--models-preset', preset, '--port', '0'];
const launcher = resolve(import.meta.dirname, '../bin/llm-tui.js');
const env = { ...process.env, XDG_RUNTIME_DIR: directory, NODE_ENV: 'production' };
const child = spawn(process.execPath, [launcher, 'serve', '--state-dir', join(directory, 'state'), ...flags], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const pid = child.pid ?? 0;
try {
  const url = await listening();
  console.log(`seed ${seed}, ${values.runs} requests`);
  const report = await fuzzRouter(url, pid, seed, Number(values.runs));
  console.log('answers by status:', report.statuses);
  console.log(`memory: ${mib(report.rssBytes[0])} after a fifth, ${mib(report.rssBytes[1])} at the end`);
  for (const fault of report.faults.slice(0, 10)) console.log(`\nFAULT\n${fault}`);
  if (report.faults.length > 0) process.exitCode = 1;
  await leaving(url);
} finally {
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  rmSync(directory, { recursive: true, force: true });
}

async function listening(): Promise<string> {
  let output = '';
  for await (const piece of child.stdout.setEncoding('utf8')) {
    output += String(piece);
    const url = /listens at (\S+);/u.exec(output)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return url;
  }
  throw new Error(`the router ended while starting: ${output}`);
}

async function leaving(url: string): Promise<void> {
  const [halves, aborts] = [Number(values.halves), Number(values.aborts)];
  const before = rssOf(pid);
  await storm({ url, seed, models: ['small', 'other'], halves, aborts, withinMillis: 8000 });
  let left = -1;
  for (let tries = 0; tries < 100 && left !== 0; tries += 1) {
    await sleep(100);
    const { models, queue } = (await (await fetch(`${url}/supervisor/state`)).json()) as Snapshot;
    const waiting = queue.reduce((sum, { waiters }) => sum + waiters, 0);
    left = models.reduce((sum, { requests }) => sum + requests, waiting);
  }
  console.log(
    `${halves} + ${aborts} clients have left; leases and waiters: ${left}; ${mib(before)}, then ${mib(rssOf(pid))}`,
  );
  for (const name of ['small', 'other']) {
    const body = JSON.stringify({ model: name, messages: [], max_tokens: 2 });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
    const text = await response.text();
    console.log(`${name} answers ${response.status}${response.ok ? '' : `: ${text}`}`);
    if (!response.ok) process.exitCode = 1;
  }
  if (left !== 0) process.exitCode = 1;
}
