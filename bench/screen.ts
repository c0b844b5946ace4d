/**
 * What the screen costs: `npm run bench:screen -- [--seconds 10]`. The real program with simulated devices and models, its
 * screen in a pseudo-terminal; bytes are counted there, CPU time and memory are read from /proc (Linux). Exit code 1 when
 * a budget is exceeded. Times of the clock depend on what else the machine does; CPU time hardly.
 */
import { rmSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuSeconds, residentBytes } from '../test/support/process-cost.js';
import { runProgram, temporaryDirectory } from '../test/support/serving.js';
import type { TestTerminal } from '../test/support/terminal.js';
import { during } from '../test/real/during.js';
import { burstsSince, bytesOf } from './screen/bursts.js';
import {
  loadedCount,
  measured,
  modelName,
  startCold,
  startMachine,
  wavering,
  type SimMachine,
} from './screen/machine.js';

const QUIET_MILLIS = 3_000;
/** Long enough for the screen to rest after it has come up or after a key. */
const SETTLE_MILLIS = 1_500;
/** Rest is measured for so long at least: V8 tidies up once after the loads, and a screen is left open all day. */
const REST_SECONDS = 30;
/** What a key has caused is drawn before the next one comes. */
const KEY_INTERVAL_MILLIS = 150;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const seconds = Number(values.seconds);

/** What was over its budget. */
const overs: string[] = [];

function report(what: string, measured: number, budget: number, unit: string, digits = 0): void {
  const over = !(measured <= budget);
  if (over) overs.push(what);
  const figures = [`${measured.toFixed(digits)} ${unit}`.padStart(14), `${budget} ${unit}`.padStart(14)];
  console.log(`${what.padEnd(66)} ${figures.join(' ')}${over ? '  OVER' : ''}`);
}

const load = loadavg()[0] ?? 0;
console.log(`${availableParallelism()} processors, load ${load.toFixed(1)} before this began`);
const head = [`measured`.padStart(14), `budget`.padStart(14)];
console.log(`${'16 devices, 60 models, 120 x 36'.padEnd(66)} ${head.join(' ')}`);
await coldStart();
const short = { 'sim-size': '1GiB', 'sim-load-seconds': 0.1, 'sim-measure-seconds': 0, 'sim-tokens-per-second': 2 };
await onMachine(await startMachine(60, short), restingAndChanging);
console.log('\n16 devices, 200 models, 1,000 requests waiting');
// One model fills a device, and answers without an end in sight: nobody else gets in.
const long = { 'sim-size': '20GiB', 'sim-load-seconds': 0.1, 'sim-measure-seconds': 0, 'sim-tokens-per-second': 0.001 };
await onMachine(await startMachine(200, long, '--queue-max', '2000', '--max-wait', '86400'), manyWaiting);
process.exitCode = overs.length > 0 ? 1 : 0;

function onMachine(machine: SimMachine, measure: (machine: SimMachine) => Promise<void>): Promise<void> {
  return during(machine.served, () => measure(machine));
}

async function coldStart(): Promise<void> {
  const directory = temporaryDirectory();
  const began = performance.now();
  await during(startCold(directory, 60), async (terminal) => {
    await terminal.waitFor(modelName(0));
    report('first useful frame of llm-tui, cold', performance.now() - began, 1_500, 'ms');
    // Its supervisor ends with it.
    terminal.type('qs');
    await terminal.exited;
  });
  await runProgram(['stop', '--state-dir', `${directory}/cold`], directory);
  rmSync(directory, { recursive: true, force: true });
}

async function restingAndChanging(machine: SimMachine): Promise<void> {
  const { served } = machine;
  const serve = served.process.pid ?? 0;
  machine.setExternal(wavering(0));
  await measured(machine);
  const began = performance.now();
  await during(machine.attach(120, 36), async (terminal) => {
    await terminal.waitFor(modelName(0));
    report('first useful frame of an attached screen', performance.now() - began, 1_000, 'ms');
    console.log(`  (${(cpuSeconds(terminal.pid) * 1000).toFixed(0)} ms of it are CPU time of the screen)`);
    await terminal.settle(SETTLE_MILLIS);

    const quiet = await quietWindow(terminal, (await served.snapshot()).supervisor.startedAt);
    report('nothing changes: frames in 3 s', quiet.frames, 0, 'frames');
    report('nothing changes: bytes in 3 s', quiet.bytes, 0, 'bytes');
    const rest = Math.max(seconds, REST_SECONDS);
    report('serve, a screen attached, nothing changes', (await cpuShare(serve, rest)) * 100, 1, '%', 2);
    report('one value changes', await oneChange(machine, terminal), 400, 'bytes');

    await Promise.all(Array.from({ length: 12 }, (_, index) => machine.ask(modelName(index), 1)));
    await served.until('the models are loaded', (snapshot) => loadedCount(snapshot) >= 12);
    await terminal.settle(SETTLE_MILLIS);
    const changing = await allChanging(machine, terminal);
    report('all changes once a second: CPU of the screen', changing.cpuShare * 100, 5, '%', 2);
    report('a frame in which all changes: CPU', changing.cpuMillisPerFrame, 50, 'ms', 1);
    console.log(`  (${changing.frames} frames of ${changing.bytesPerFrame.toFixed(0)} bytes in ${seconds} s)`);
    report('memory of the screen', residentBytes(terminal.pid) / 1e6, 150, 'MB');
    report('memory of serve', residentBytes(serve) / 1e6, 120, 'MB');
  });
}

/** What is written in 3 s in which not even the uptime changes. */
async function quietWindow(
  terminal: TestTerminal,
  startedAt: number,
): Promise<{ readonly frames: number; readonly bytes: number }> {
  const intoMinute = (Date.now() - startedAt) % 60_000;
  if (intoMinute + QUIET_MILLIS > 59_000) await delay(61_500 - intoMinute);
  const from = performance.now();
  await delay(QUIET_MILLIS);
  const bursts = burstsSince(terminal.writes(), from);
  return { frames: bursts.length, bytes: bytesOf(bursts) };
}

async function cpuShare(pid: number, during: number): Promise<number> {
  const before = cpuSeconds(pid);
  await delay(during * 1000);
  return (cpuSeconds(pid) - before) / during;
}

/** Another program takes memory on one device. */
async function oneChange(machine: SimMachine, terminal: TestTerminal): Promise<number> {
  const before = wavering(0);
  const from = performance.now();
  machine.setExternal((device) => before(device) + (device === 3 ? 3e9 : 0));
  await terminal.waitFor(/CUDA3 .*external {2}4\./u);
  await terminal.settle(SETTLE_MILLIS);
  return bytesOf(burstsSince(terminal.writes(), from));
}

/** Every second all devices and the models that are seen change. */
async function allChanging(
  machine: SimMachine,
  terminal: TestTerminal,
): Promise<{
  readonly cpuShare: number;
  readonly cpuMillisPerFrame: number;
  readonly frames: number;
  readonly bytesPerFrame: number;
}> {
  const from = performance.now();
  const before = cpuSeconds(terminal.pid);
  const asked: Promise<void>[] = [];
  for (let round = 1; round <= seconds; round += 1) {
    machine.setExternal(wavering(round));
    // Half a second of work each: requests in flight go up and down again.
    for (let index = 0; index < 12; index += 1) asked.push(machine.ask(modelName(index), 1));
    await delay(Math.max(0, from + round * 1000 - performance.now()));
  }
  const cpu = cpuSeconds(terminal.pid) - before;
  const bursts = burstsSince(terminal.writes(), from);
  await Promise.all(asked);
  return {
    cpuShare: cpu / seconds,
    cpuMillisPerFrame: (cpu * 1000) / bursts.length,
    frames: bursts.length,
    bytesPerFrame: bytesOf(bursts) / bursts.length,
  };
}

async function manyWaiting(machine: SimMachine): Promise<void> {
  const { served } = machine;
  await measured(machine);
  const gone = new AbortController();
  const asked = Array.from({ length: 16 }, (_, index) => machine.ask(modelName(index), 1, gone.signal));
  await served.until('all devices are full', (snapshot) => loadedCount(snapshot) === 16);
  for (let index = 0; index < 1000; index += 1) {
    asked.push(machine.ask(modelName(16 + (index % 184)), 1, gone.signal));
  }
  await served.until('all wait', ({ queue }) => queue.reduce((sum, { waiters }) => sum + waiters, 0) === 1000);
  await during(machine.attach(120, 36), async (terminal) => {
    await terminal.waitFor(modelName(0));
    await terminal.settle(SETTLE_MILLIS);

    const scrolling = await keysCost(
      terminal,
      Array.from({ length: 60 }, () => 'j'),
    );
    report('scrolling: CPU for each key', scrolling.cpuMillis, 50, 'ms', 1);
    terminal.type('/');
    await terminal.waitFor('/_');
    const filtering = await keysCost(terminal, [
      ...Array.from('model-19'),
      ...Array.from({ length: 8 }, () => '\u007f'),
      ...Array.from('q4-01'),
    ]);
    report('filtering: CPU for each key', filtering.cpuMillis, 50, 'ms', 1);
    const waits = [scrolling, filtering].map(({ p95Millis }) => p95Millis.toFixed(0)).join(' and ');
    console.log(`  (from the key to the last byte, of which at most 15 frames a second: p95 ${waits} ms)`);
    console.log(`  (memory of the screen with so many models: ${(residentBytes(terminal.pid) / 1e6).toFixed(0)} MB)`);
  });
  gone.abort();
  await Promise.all(asked);
}

/** What each of these keys costs, one after the other. Ages and waits that go on are drawn once a second besides. */
async function keysCost(
  terminal: TestTerminal,
  keys: readonly string[],
): Promise<{ readonly cpuMillis: number; readonly p95Millis: number }> {
  const before = cpuSeconds(terminal.pid);
  const took: number[] = [];
  for (const key of keys) {
    const from = performance.now();
    terminal.type(key);
    await delay(KEY_INTERVAL_MILLIS);
    const [first] = burstsSince(terminal.writes(), from);
    if (first !== undefined) took.push(first.toMillis - from);
  }
  took.sort((a, b) => a - b);
  return {
    cpuMillis: ((cpuSeconds(terminal.pid) - before) * 1000) / keys.length,
    p95Millis: took[Math.floor(took.length * 0.95)] ?? NaN,
  };
}
