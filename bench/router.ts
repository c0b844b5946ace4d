/**
 * What the router costs: `npm run bench:router -- [--llama-server PATH] [--seconds 3] [--requests 100000]`. The same
 * child answers directly, behind nginx (where it is installed) and behind us; behind the router of a llama-server only
 * its own children can answer, so there it is `/tokenize` of a tiny model, and the same for us.
 */
import { rmSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { load, quantile, streamDelays, type LoadResult } from './load.js';
import { costOf, direct, llamaAlone, nginx, ours, scratchDirectory, stock, type Served } from './proxies.js';

const CONNECTIONS = [1, 16, 64];
const STREAMS = 32;
const MODEL = 'sample-small';

interface Row extends LoadResult {
  readonly name: string;
  readonly connections: number;
  readonly cpuMicrosPerRequest: number;
}

const { values } = parseArgs({
  options: {
    'llama-server': { type: 'string' },
    seconds: { type: 'string', default: '3' },
    requests: { type: 'string', default: '100000' },
  },
});
const millis = Number(values.seconds) * 1000;

const smallBody = Buffer.from(JSON.stringify({ model: MODEL, content: 'Say something.' }));
const largeBody = Buffer.from(JSON.stringify({ model: MODEL, content: 'All work and no play. '.repeat(47_000) }));

async function measure(served: Served, connections: number, body: Buffer): Promise<Row> {
  const common = { port: served.port, path: '/tokenize', body, connections };
  await load({ ...common, millis: millis / 4 });
  const before = costOf(served.pid).cpuSeconds;
  const result = await load({ ...common, millis });
  const cpu = costOf(served.pid).cpuSeconds - before;
  return { ...result, name: served.name, connections, cpuMicrosPerRequest: (cpu * 1e6) / result.requests };
}

function print({ name, connections, perSecond, p50Millis, p99Millis, cpuMicrosPerRequest }: Row): void {
  const figures = [
    `${Math.round(perSecond)}/s`.padStart(9),
    `p50 ${p50Millis.toFixed(2)} ms`.padStart(14),
    `p99 ${p99Millis.toFixed(2)} ms`.padStart(15),
    `${cpuMicrosPerRequest.toFixed(0)} µs of CPU each`.padStart(22),
  ];
  console.log(`  ${name.padEnd(20)} ${String(connections).padStart(3)} connections ${figures.join(' ')}`);
}

async function compare(all: readonly Served[], body: Buffer, what: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  console.log(`\n${what}`);
  for (const connections of CONNECTIONS) {
    for (const served of all) {
      const row = await measure(served, connections, body);
      print(row);
      rows.push(row);
    }
  }
  return rows;
}

async function streams(all: readonly Served[]): Promise<void> {
  console.log(`\n${STREAMS} streams of 50 events a second: from the child's write to the client`);
  for (const served of all) {
    const delays = await streamDelays(served.port, '/v1/chat/completions', smallBody, STREAMS);
    const at = (share: number): string => `${quantile(delays, share).toFixed(2)} ms`;
    console.log(
      `  ${served.name.padEnd(20)} p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, ${delays.length} events`,
    );
  }
}

async function memory(served: Served): Promise<void> {
  const requests = Number(values.requests);
  const common = { port: served.port, path: '/tokenize', body: smallBody, connections: 16, millis: 600_000 };
  await load({ ...common, requests: requests / 5 });
  const before = costOf(served.pid).rssBytes;
  await load({ ...common, requests });
  const after = costOf(served.pid).rssBytes;
  const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  console.log(`\nmemory of ${served.name}: ${mib(before)} before, ${mib(after)} after ${requests} requests more`);
}

function verdict(rows: readonly Row[]): void {
  const at = (name: string): Row | undefined => rows.find((row) => row.name === name && row.connections === 16);
  const [alone, theirs, mine] = [at('llama-server alone'), at('stock + llama-server'), at('ours + llama-server')];
  if (!alone || !theirs || !mine) return;
  const added = (row: Row): number => row.p50Millis - alone.p50Millis;
  console.log(
    `\nat 16 connections: ${(mine.perSecond / theirs.perSecond).toFixed(2)} × the requests per second of the stock router, ` +
      `added p50 ${added(mine).toFixed(2)} ms against ${added(theirs).toFixed(2)} ms`,
  );
}

/** What is measured is the built program, which also has the models to measure with. */
async function writeModels(models: string): Promise<readonly string[]> {
  const built = pathToFileURL(join(import.meta.dirname, '../dist/src/catalog/sample-models/sample-models.js')).href;
  const { writeSampleModels } = (await import(built)) as {
    writeSampleModels: (directory: string) => Promise<readonly string[]>;
  };
  return writeSampleModels(models);
}

const directory = scratchDirectory();
const started: Served[] = [];
try {
  console.log(
    `${cpus().length} × ${cpus()[0]?.model ?? '?'}, load ${loadavg()[0]?.toFixed(1) ?? '?'}, node ${process.version}`,
  );
  const models = join(directory, 'models');
  const [model = ''] = await writeModels(models);
  const child = await direct();
  started.push(child);
  const proxy = await nginx(directory, child.port);
  if (proxy === null) console.log('nginx is not installed: left out');
  else started.push(proxy);
  const us = await ours(directory, models, null);
  started.push(us);
  await compare(started, smallBody, 'small bodies, instant child');
  await compare(started, largeBody, 'bodies of 1 MB, instant child');
  await streams(started);
  await memory(us);
  const binary = values['llama-server'];
  if (binary !== undefined) {
    const llama = [await llamaAlone(model, binary), await stock(models, binary), await ours(directory, models, binary)];
    started.push(...llama);
    verdict(await compare(llama, smallBody, 'small bodies, /tokenize of a real llama-server'));
  }
} finally {
  for (const served of started) await served.stop();
  rmSync(directory, { recursive: true, force: true });
}
