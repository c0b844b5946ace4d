import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { execa } from 'execa';
import { connectSupervisor } from '../../src/client/supervisor-client.js';
import type { Decision, Snapshot } from '../../src/client/types.js';
import { LAUNCHER } from '../support/serving.js';
import { until } from '../support/until.js';
import { during } from './during.js';
import { end, Machine } from './machine.js';
import { GPUS_MIB } from './models.js';
import type { Rig } from './rig.js';

/** Small GPUs need a small margin: with the default of 1024 MiB nothing would ever fit on one of 600 MiB. */
export const MARGIN_MIB = 16;

/**
 * What a careful user would pin: `--fit` is on by default and keeps 1024 MiB free, so that on GPUs as small as these it
 * would move every layer to the CPU.
 */
export const PINNED: readonly string[] = [
  '--ctx-size',
  '512',
  '--n-gpu-layers',
  '99',
  '--fit',
  'off',
  '--parallel',
  '1',
];

/**
 * Has children say what they allocate; without it a llama-server of this version logs too little. Only for machines with
 * one GPU: at this verbosity it also lists every device, which takes a CUDA context on each, `--device` or not.
 */
export const LOGGING: readonly string[] = ['--log-verbosity', '4'];

/** A child says that it goes to sleep, or that it has answered, before it has given everything back. */
const SETTLING_MILLIS = 300;

/** What a part serves, and on what. */
export interface Setting {
  /** Total MiB of each GPU. */
  readonly gpus?: readonly number[];
  /** More of the rig's variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Directory of the models. */
  readonly models: string;
  /** Flags of `serve`. */
  readonly args: readonly string[];
}

/** Our supervisor on an emulated machine, with the real llama-server; every decision that it makes is kept. */
export class Supervised implements AsyncDisposable {
  readonly machine: Machine;
  readonly process: ChildProcess;
  readonly decisions: Decision[] = [];
  readonly url: string;
  readonly #unsubscribe: () => void;

  private constructor(machine: Machine, process: ChildProcess, url: string) {
    this.machine = machine;
    this.process = process;
    this.url = url;
    const client = connectSupervisor({ url });
    client.subscribe((message) => {
      if (message.type === 'snapshot') this.#keep(message.snapshot.decisions);
      if (message.type === 'decision') this.#keep([message.decision]);
    });
    this.#unsubscribe = () => client.close();
  }

  /** Starts `serve` and waits until it knows its models and devices. A state directory that was used before is used again. */
  static start(machine: Machine, models: string, ...args: readonly string[]): Promise<Supervised> {
    return Supervised.#begin(machine, machine.start(process.execPath, serveArguments(machine, models, args)));
  }

  /** The same in a terminal of its own; `process` is then the one that holds the terminal, which goes with it. */
  static startInTerminal(machine: Machine, models: string, ...args: readonly string[]): Promise<Supervised> {
    const words = [process.execPath, ...serveArguments(machine, models, args)];
    const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    return Supervised.#begin(machine, machine.start('script', ['-qefc', `exec ${quoted}`, '/dev/null']));
  }

  /** The same without a terminal, waiting only until it listens. */
  static launch(machine: Machine, models: string, ...args: readonly string[]): Promise<Supervised> {
    return Supervised.#listening(machine, machine.start(process.execPath, serveArguments(machine, models, args)));
  }

  static async #begin(machine: Machine, child: ChildProcess): Promise<Supervised> {
    const supervised = await Supervised.#listening(machine, child);
    await supervised.until('every model is measured', ({ measureQueue }) => measureQueue.length === 0);
    // Looking at devices and measuring takes CUDA contexts, whose memory may come back late.
    await until('every GPU is empty', async () => (await machine.gpus()).every(({ usedBytes }) => usedBytes === 0));
    await supervised.until('our probes know', ({ devices }) =>
      devices.every(({ kind, externalBytes }) => kind === 'host' || externalBytes === 0),
    );
    return supervised;
  }

  static async #listening(machine: Machine, child: ChildProcess): Promise<Supervised> {
    let output = '';
    const url = await new Promise<string>((found, failed) => {
      const read = (text: string): void => {
        output += text;
        const match = /listens at (\S+);/u.exec(output)?.[1];
        if (match !== undefined) found(match);
      };
      child.stdout?.setEncoding('utf8').on('data', read);
      child.stderr?.setEncoding('utf8').on('data', read);
      child.once('exit', () => failed(new Error(`serve ended while starting: ${output}`)));
    });
    return new Supervised(machine, child, url);
  }

  /** A machine and our supervisor on it, for as long as they are used. */
  static on<T>(
    rig: Rig,
    { gpus = GPUS_MIB, environment = {}, models, args }: Setting,
    use: (supervised: Supervised) => Promise<T>,
  ): Promise<T> {
    return during(new Machine(rig, gpus, environment), async (machine) =>
      during(await Supervised.start(machine, models, ...args), use),
    );
  }

  async snapshot(): Promise<Snapshot> {
    return (await (await fetch(`${this.url}/supervisor/state`)).json()) as Snapshot;
  }

  /** What `llm-tui ps` prints of it. */
  async ps(): Promise<string> {
    const { stdout } = await execa(process.execPath, [LAUNCHER, 'ps', '--url', this.url]);
    return stdout;
  }

  async logs(model: string): Promise<readonly string[]> {
    const response = await fetch(`${this.url}/supervisor/logs?model=${model}`);
    return ((await response.json()) as { lines: readonly string[] }).lines;
  }

  async act(verb: 'load' | 'unload' | 'kill', model: string): Promise<void> {
    const body = JSON.stringify({ model });
    await fetch(`${this.url}/supervisor/${verb}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
  }

  until<T>(
    what: string,
    condition: (snapshot: Snapshot) => T,
    limitMillis?: number,
  ): Promise<Exclude<T, false | null | undefined>> {
    return until(what, async () => condition(await this.snapshot()), limitMillis);
  }

  /** Nothing loads, stops or gives memory back, nobody waits, and the probes have looked a while after that. */
  async untilAtRest(): Promise<Snapshot> {
    const { at } = await this.until('everything is at rest', (snapshot) => isAtRest(snapshot) && snapshot);
    const isLater = (sampledAt: number | null): boolean => (sampledAt ?? 0) > at + SETTLING_MILLIS;
    return this.until(
      'the devices have been looked at once more',
      (snapshot) => isAtRest(snapshot) && snapshot.devices.every(({ sampledAt }) => isLater(sampledAt)) && snapshot,
    );
  }

  made(kind: Decision['kind']): readonly Decision[] {
    return this.decisions.filter((decision) => decision.kind === kind);
  }

  /** From now on decisions are not kept, and nobody is there for whom the supervisor would have to look. */
  stopFollowing(): void {
    this.#unsubscribe();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    await end(this.process, 'SIGTERM');
  }

  #keep(decisions: readonly Decision[]): void {
    const latest = this.decisions.at(-1)?.number ?? 0;
    this.decisions.push(...decisions.filter(({ number }) => number > latest));
  }
}

function serveArguments(machine: Machine, models: string, args: readonly string[]): readonly string[] {
  const own = ['--state-dir', join(machine.directory, 'state'), '--port', '0', '--models-dir', models];
  const engine = ['--llama-server', machine.rig.llamaServer, '--models-memory-margin', String(MARGIN_MIB)];
  return [LAUNCHER, 'serve', ...own, ...engine, ...args];
}

function isAtRest({ models, devices, queue }: Snapshot): boolean {
  const settled = models.every(({ word, requests }) => !['loading', 'stopping'].includes(word) && requests === 0);
  return settled && queue.length === 0 && devices.every(({ releasingBytes }) => (releasingBytes ?? 0) === 0);
}
