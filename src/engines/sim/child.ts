// A simulated child: llama-server's flags, messages and HTTP, memory that is an entry in a ledger, canned words.
// It has to start fast and stay small: nothing but Node's own modules and its neighbours.
import { setTimeout as sleep } from 'node:timers/promises';
import { readLedger, type SimDevice } from '../../devices/sim-ledger.js';
import type { DeviceBytes } from '../../scheduler/units.js';
import { EXIT_MESSAGE, SLEEP_MESSAGE, type ChildMemory } from '../messages.js';
import { describeMeasured, formatProtocolLine } from '../protocol.js';
import { describeOutOfMemory, OutOfMemory, SimMemory } from './memory.js';
import {
  DEVICES_VARIABLE,
  LEDGER_VARIABLE,
  parseSimArguments,
  readSimSettings,
  splitEvenly,
  type SimSettings,
} from './options.js';
import { parseSimDevices } from './parse-sim-devices.js';
import { SimRest } from './rest.js';
import { createSimServer } from './server.js';

const CHUNKS = 10;

await main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

async function main(): Promise<void> {
  let sleepNow: () => void = () => undefined;
  obeyStdin(() => sleepNow());
  const settings = readSettings();
  const directory = process.env[LEDGER_VARIABLE] ?? '';
  const devices = parseSimDevices(process.env[DEVICES_VARIABLE] ?? '');
  const need = readNeed(settings, devices);
  if (process.env['LLAMA_SERVER_CHILD_ROLE'] === 'measure') {
    await measure(settings, report(need, settings, devices), directory);
    return;
  }
  console.log(`simulated child of ${settings.alias}: ${Object.keys(need).join(', ')}`);

  const memory = new SimMemory(directory, devices);
  const rest = new SimRest({
    idleMillis: settings.sleepAfterMillis,
    fallAsleep: () => {
      memory.hold({});
      console.log(formatProtocolLine('sleeping'));
    },
    wakeUp: async () => {
      await load(memory, need, settings);
      console.log(formatProtocolLine('ready'));
    },
  });
  const server = createSimServer(settings, (use) => rest.work(use));
  server.http.on('error', (error) => {
    fail([`couldn't bind HTTP server socket, hostname: ${settings.host}, port: ${settings.port} (${error.message})`]);
  });
  await new Promise<void>((listening) => server.http.listen(settings.port, settings.host, listening));

  await load(memory, need, settings);
  server.ready();
  console.log(formatProtocolLine('ready', { memory: report(need, settings, devices) }));

  rest.begin();
  sleepNow = () => rest.sleepNow();
  if (settings.failAfterSeconds === null) return;
  await sleep(settings.failAfterSeconds * 1000);
  console.error('simulated failure, as asked for by --sim-fail-after');
  process.exit(134);
}

/** Says what it would need, and takes nothing. */
async function measure(settings: SimSettings, table: ChildMemory, ledgerDirectory: string): Promise<void> {
  await sleep(settings.measureSeconds * 1000);
  const { measureFails } = settings;
  if (measureFails === 'until-loaded' && readLedger(ledgerDirectory).holdings.length === 0) {
    fail(['simulated failure, as asked for by --sim-measure-fails: nothing is loaded yet']);
  }
  if (measureFails === 'always') fail(['simulated failure, as asked for by --sim-measure-fails']);
  const devices = table.devices.map(({ total = 0, ...row }) => ({ ...row, total, free: total }));
  const free = { ...table, devices };
  const result = describeMeasured(free, free, settings.contextTokens);
  console.log(formatProtocolLine('measuring', measureFails === 'malformed' ? { ...result, min: 'much' } : result));
  process.exit(0);
}

/** The router's message ends the child, and so does the end of stdin: then the router has gone. */
function obeyStdin(onSleep: () => void): void {
  let text = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = (lines.pop() ?? '').slice(-1024);
    for (const line of lines) obey(`${line}\n`, onSleep);
  });
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
}

function obey(message: string, onSleep: () => void): void {
  if (message === SLEEP_MESSAGE) onSleep();
  if (message !== EXIT_MESSAGE) return;
  console.log('leaving, as the router asked');
  process.exit(0);
}

function readSettings(): SimSettings {
  try {
    return readSimSettings(parseSimArguments(process.argv.slice(2)));
  } catch (error) {
    return fail([`error: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function readNeed(settings: SimSettings, devices: readonly SimDevice[]): DeviceBytes {
  const known = devices.map(({ name }) => name);
  const unknown = settings.devices.find((name) => !known.includes(name));
  if (unknown !== undefined) fail([`error: invalid argument: --device ${unknown} (simulated: ${known.join(', ')})`]);
  return splitEvenly(settings.sizeBytes, settings.devices.length > 0 ? settings.devices : known.slice(0, 1));
}

/** Takes the memory bit by bit, as a real child does while it reads its weights. */
async function load(memory: SimMemory, need: DeviceBytes, settings: SimSettings): Promise<void> {
  console.log(formatProtocolLine('loading', { stages: ['text_model'], current: 'text_model', value: 0 }));
  for (let chunk = 1; chunk <= CHUNKS; chunk++) {
    const share = chunk / CHUNKS;
    try {
      const part = Object.entries(need).map(([name, bytes]) => [name, Math.floor(bytes * share)] as const);
      memory.hold(Object.fromEntries(part), need);
    } catch (error) {
      if (!(error instanceof OutOfMemory)) throw error;
      fail(describeOutOfMemory(error.device, error.askedBytes));
    }
    console.log(formatProtocolLine('loading', { stages: ['text_model'], current: 'text_model', value: share }));
    await sleep((settings.loadSeconds * 1000) / CHUNKS);
  }
}

function report(need: DeviceBytes, settings: SimSettings, devices: readonly SimDevice[]): ChildMemory {
  return {
    n_ctx: settings.contextTokens,
    devices: Object.entries(need).map(([name, bytes]) => {
      const context = Math.floor(bytes / 10);
      // It takes the same in all, over however many devices: there is nothing that each of them has of its own.
      const compute = 0;
      const total = devices.find((device) => device.name === name)?.totalBytes ?? 0;
      return { kind: 'device', name, total, free: total - bytes, model: bytes - context, context, compute };
    }),
  };
}

function fail(lines: readonly string[]): never {
  for (const line of lines) console.error(line);
  process.exit(1);
}
