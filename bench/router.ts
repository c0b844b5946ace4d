/**
 * What the router costs: `npm run bench:router -- [--llama-server PATH] [--seconds 2] [--rounds 3] [--requests 100000]
 * [--part loads|streams|memory|stock]…`. The same child answers directly, behind nginx (where it is installed) and behind
 * us; behind the router of a llama-server (that of LLM_TUI_RIG where none is named) only its own children can answer, so
 * there it is `/tokenize` of a tiny model, and the same for us. All take turns, and the median turn counts.
 */
import { rmSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { load, type LoadResult } from './load.js';
import { costOf, direct, llamaAlone, nginx, ours, scratchDirectory, stock, type Served } from './proxies.js';
import { compareStreams } from './streams.js';

const CONNECTIONS = [1, 16, 64];
const MEMORY_STEP = 10_000;
const MODEL = 'sample-small';

interface Row extends LoadResult {
  readonly name: string;
  readonly connections: number;
  readonly cpuMicrosPerRequest: number;
}

const { values } = parseArgs({
  options: {
    'llama-server': { type: 'string' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    part: { type: 'string', multiple: true, default: ['loads', 'streams', 'memory', 'stock'] },
    requests: { type: 'string', default: '100000' },
  },
});
const millis = Number(values.seconds) * 1000;
const rounds = Number(values.rounds);
const rig = process.env['LLM_TUI_RIG'];
const binary = values['llama-server'] ?? (rig === undefined ? undefined : join(rig, 'bin/llama-server'));
const wants = (part: string): boolean => values.part.includes(part);

const smallBody = Buffer.from(JSON.stringify({ model: MODEL, content: 'Say something.' }));
const largeBody = Buffer.from(JSON.stringify({ model: MODEL, content: 'All work and no play. '.repeat(47_000) }));
/** Short strings with escapes in them, unlike the one above. */
const messages = Array.from({ length: 4600 }, () => ({ role: 'user', content: 'All "work",\nno play.\n'.repeat(8) }));
const chatBody = Buffer.from(JSON.stringify({ messages, model: MODEL }));

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
    const taken = new Map<Served, Row[]>(all.map((served) => [served, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const [served, turns] of taken) turns.push(await measure(served, connections, body));
    }
    for (const turns of taken.values()) {
      const row = turns.sort((a, b) => a.perSecond - b.perSecond)[turns.length >> 1];
      if (row === undefined) continue;
      print(row);
      rows.push(row);
    }
  }
  return rows;
}

async function memory(served: Served): Promise<void> {
  const requests = Number(values.requests);
  const common = { port: served.port, path: '/tokenize', body: smallBody, connections: 16, millis: 600_000 };
  const mib = (): string => (costOf(served.pid).rssBytes / 1024 / 1024).toFixed(0);
  await load({ ...common, requests: MEMORY_STEP });
  const steps = [mib()];
  for (let done = 0; done < requests; done += MEMORY_STEP) {
    await load({ ...common, requests: MEMORY_STEP });
    steps.push(mib());
  }
  console.log(`\nmemory of ${served.name} after each ${MEMORY_STEP} requests, in MiB: ${steps.join(' ')}`);
}

function verdict(rows: readonly Row[]): void {
  const at = (name: string): Row | undefined => rows.find((row) => row.name === name && row.connections === 16);
  const [alone, theirs, mine] = [at('llama-server alone'), at('stock + llama-server'), at('ours + llama-server')];
  if (!alone || !theirs || !mine) return;
  const added = (row: Row): number => row.p50Millis - alone.p50Millis;
  console.log(
    `\nat 16 connections: ${(mine.perSecond / theirs.perSecond).toFixed(2)} × the requests per second of the stock router ` +
      `(goal: 3), added p50 ${added(mine).toFixed(2)} ms against ${added(theirs).toFixed(2)} ms: ` +
      `${(added(mine) / added(theirs)).toFixed(2)} of it (goal: 0.4)`,
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
  // A child of its own, as ours has.
  const behind = await direct();
  started.push(behind);
  const proxy = await nginx(directory, behind.port);
  if (proxy === null) console.log('nginx is not installed: left out');
  else started.push(proxy);
  const us = await ours(directory, models, null);
  started.push(us);
  if (wants('loads')) {
    const all = [child, ...(proxy === null ? [] : [proxy]), us];
    await compare(all, smallBody, 'small bodies, instant child');
    await compare(all, largeBody, 'bodies of 1 MB, instant child');
    await compare(all, chatBody, 'chats of 1 MB, instant child');
  }
  if (wants('streams')) await compareStreams(child, proxy === null ? [] : [proxy], us, smallBody, rounds);
  if (wants('memory')) await memory(us);
  if (wants('stock') && binary !== undefined) {
    const llama = [await llamaAlone(model, binary), await stock(models, binary), await ours(directory, models, binary)];
    started.push(...llama);
    verdict(await compare(llama, smallBody, 'small bodies, /tokenize of a real llama-server'));
  }
} finally {
  for (const served of started) await served.stop();
  rmSync(directory, { recursive: true, force: true });
}
