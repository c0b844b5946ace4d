import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/engines/free-port.js';

const QUICK_CHILD = resolve(import.meta.dirname, 'quick-child.js');
const LAUNCHER = resolve(import.meta.dirname, '../bin/llm-tui.js');

/** Something that answers on a port, with a process whose cost can be told. */
export interface Served {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A directory for one benchmark. */
export function scratchDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'llm-tui-bench-'));
}

/** The child by itself. */
export async function direct(): Promise<Served> {
  const port = await freePort();
  return start('direct', port, process.execPath, [QUICK_CHILD, '--port', String(port)]);
}

/** nginx with one worker and kept connections; null where it is not installed. */
export async function nginx(directory: string, childPort: number): Promise<Served | null> {
  const binary = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx'].find((path) => existsSync(path));
  if (binary === undefined) return null;
  const port = await freePort();
  const file = join(directory, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
events { worker_connections 4096; }
http {
  access_log off; client_max_body_size 64m; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  client_body_buffer_size 4m; keepalive_requests 1000000;
  upstream child { server 127.0.0.1:${childPort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port}; location / {
    proxy_pass http://child; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }
}`,
  );
  return start('nginx', port, binary, ['-c', file, '-p', directory]);
}

/** Us, with the instant child, or a llama-server with models of a directory. */
export async function ours(directory: string, models: string, llamaServer: string | null): Promise<Served> {
  const port = await freePort();
  const binary = llamaServer ?? QUICK_CHILD;
  const state = join(directory, llamaServer === null ? 'state' : 'state-llama');
  const args = ['serve', '--port', String(port), '--state-dir', state, '--llama-server', binary];
  const name = llamaServer === null ? 'ours' : 'ours + llama-server';
  return start(name, port, process.execPath, [LAUNCHER, ...args, '--models-dir', models, ...childFlags(llamaServer)]);
}

/** The router of llama-server. */
export async function stock(models: string, llamaServer: string): Promise<Served> {
  const port = await freePort();
  const args = ['--port', String(port), '--models-dir', models, ...childFlags(llamaServer)];
  return start('stock + llama-server', port, llamaServer, args);
}

/** A llama-server alone. */
export async function llamaAlone(model: string, llamaServer: string): Promise<Served> {
  const port = await freePort();
  const args = ['--port', String(port), '-m', model, '--alias', 'bench', ...childFlags(llamaServer)];
  return start('llama-server alone', port, llamaServer, args);
}

function childFlags(llamaServer: string | null): readonly string[] {
  return llamaServer === null ? [] : ['-c', '512', '-ngl', '0', '--parallel', '4', '--threads', '1'];
}

/** Bytes in memory, and seconds of processor time, of a process (Linux; zeros elsewhere). */
export function costOf(pid: number): { readonly rssBytes: number; readonly cpuSeconds: number } {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /su, '')
      .split(' ');
    return { rssBytes: Number(fields[21]) * 4096, cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100 };
  } catch {
    return { rssBytes: 0, cpuSeconds: 0 };
  }
}

async function start(name: string, port: number, file: string, args: readonly string[]): Promise<Served> {
  const cache = scratchDirectory();
  mkdirSync(cache, { recursive: true });
  const env = { ...process.env, LLAMA_CACHE: cache, HF_HOME: cache, NODE_ENV: 'production' };
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe'], env });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
  await answers(child, port, () => said);
  return {
    name,
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(cache, { recursive: true, force: true });
    },
  };
}

async function answers(child: ChildProcess, port: number, said: () => string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`it ended while starting: ${said()}`);
    const reply = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
    if (reply?.ok === true) return;
    await sleep(100);
  }
  throw new Error(`it has not come up: ${said()}`);
}
