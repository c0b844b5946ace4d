import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from '../../src/client/types.js';
import { writeExternal } from '../../src/devices/sim-ledger.js';
import { GIB } from '../../src/scheduler/units.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { simulated } from '../../test/support/preset.js';
import { LAUNCHER, serveIn, temporaryDirectory, testEnvironment, type Served } from '../../test/support/serving.js';
import { startTerminal, type TestTerminal } from '../../test/support/terminal.js';

const DEVICES = 16;
const DEVICE_GIB = 24;

export interface SimMachine {
  readonly served: Served;
  /** A screen of its own, as `llm-tui attach` shows it. */
  attach(columns: number, rows: number): TestTerminal;
  /** Lets other programs hold so many bytes on each device. */
  setExternal(bytesOn: (device: number) => number): void;
  /** Asks a model for so many tokens; the answer is thrown away. Settles when it is over, however that was. */
  ask(model: string, tokens: number, signal?: AbortSignal): Promise<void>;
}

export const modelName = (index: number): string => `model-${String(index).padStart(3, '0')}-q4_k_m`;

/** The real program with 16 simulated devices and so many simulated models. */
export async function startMachine(
  models: number,
  keys: Readonly<Record<string, string | number>>,
  ...flags: readonly string[]
): Promise<SimMachine> {
  // As it is started in the background: see NODE_ARGS in src/cli/background.ts.
  const environment = { NODE_OPTIONS: '--max-semi-space-size=2' };
  const served = await serveIn(temporaryDirectory(), [...simArguments(models, keys), ...flags], environment);
  const ledger = pathsFor(served.stateDirectory, testEnvironment(served.directory)).simulation;
  return {
    served,
    attach: (columns, rows) =>
      startTerminal({
        file: process.execPath,
        args: [LAUNCHER, 'attach', '--state-dir', served.stateDirectory],
        ...{ columns, rows, env: screenEnvironment(served.directory) },
      }),
    setExternal: (bytesOn) =>
      writeExternal(ledger, Object.fromEntries(deviceNames().map((name, index) => [name, bytesOn(index)]))),
    async ask(model, tokens, signal) {
      const body = { model, max_tokens: tokens, messages: [{ role: 'user', content: 'Hello' }] };
      await served.post('/v1/chat/completions', body, signal).then(
        (response) => response.text().catch(() => ''),
        () => '',
      );
    },
  };
}

/** Arguments for so many simulated models, each on one of 16 simulated devices. */
export function simArguments(models: number, keys: Readonly<Record<string, string | number>>): readonly string[] {
  const names = Array.from({ length: models }, (_, index) => modelName(index));
  const devices = deviceNames().map((name) => `${name}=${DEVICE_GIB}GiB`);
  const onDevice = (index: number): string => `CUDA${index % DEVICES}`;
  const sections = names.map((name, index) => [name, { ...keys, device: onDevice(index) }] as const);
  return simulated(devices.join(','), Object.fromEntries(sections));
}

/** The whole program from nothing: a supervisor in the background and its screen. */
export function startCold(directory: string, models: number): TestTerminal {
  const state = join(directory, 'cold');
  return startTerminal({
    file: process.execPath,
    args: [LAUNCHER, '--port', '0', '--state-dir', state, ...simArguments(models, { 'sim-size': '1GiB' })],
    ...{ columns: 120, rows: 36, env: screenEnvironment(directory) },
  });
}

/** Bytes of other programs that differ from device to device and from round to round. */
export function wavering(round: number): (device: number) => number {
  return (device) => Math.round((1 + ((round * 7 + device * 3) % 20) / 10) * GIB);
}

/** Until it is known what the models need, there is something new all the time. */
export async function measured({ served }: SimMachine): Promise<void> {
  while ((await served.snapshot()).measureQueue.length > 0) await delay(500);
}

export function loadedCount({ models }: Snapshot): number {
  return models.filter(({ word }) => word === 'ready').length;
}

function deviceNames(): readonly string[] {
  return Array.from({ length: DEVICES }, (_, index) => `CUDA${index}`);
}

function screenEnvironment(directory: string): Record<string, string> {
  const entries = Object.entries(testEnvironment(directory)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(entries), LC_ALL: 'C.UTF-8' };
}
