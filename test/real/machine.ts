import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { MIB, type Bytes } from '../../src/scheduler/units.js';
import { until } from '../support/until.js';
import type { Rig } from './rig.js';

/** One emulated GPU, as the ledger behind it says; nobody but the rig's own processes writes there. */
export interface EmulatedGpu {
  readonly index: number;
  readonly uuid: string;
  readonly totalBytes: Bytes;
  readonly usedBytes: Bytes;
  readonly peakBytes: Bytes;
  /** Allocations refused for want of room since the machine was made. */
  readonly refusals: number;
  readonly processes: readonly { readonly pid: number; readonly usedBytes: Bytes; readonly program: string }[];
}

interface ShownGpu {
  readonly index: number;
  readonly uuid: string;
  readonly total: number;
  readonly used: number;
  readonly peak: number;
  readonly oom: number;
  readonly procs: readonly { readonly pid: number; readonly used: number; readonly name: string }[];
}

interface DumpedGpu {
  readonly used: number;
  readonly procs: readonly { readonly pid: number; readonly used: number }[];
}

/** A machine with emulated GPUs, its own ledger and directory; both go with it. */
export class Machine implements AsyncDisposable {
  readonly rig: Rig;
  readonly directory: string = mkdtempSync(join(tmpdir(), 'real-'));
  readonly environment: NodeJS.ProcessEnv;
  readonly #ledger = `/dev/shm/llm-tui-${randomUUID()}.bin`;
  readonly #started: ChildProcess[] = [];
  readonly #abandoned = (): void => this.#abandon();

  /** @param gpusMib total MiB of each GPU @param extra more of the rig's variables, e.g. EMU_RELEASE_MS */
  constructor(rig: Rig, gpusMib: readonly number[], extra: Readonly<Record<string, string>> = {}) {
    this.rig = rig;
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:EMU_|LLAMA_|CUDA_|GGML_)/u.test(name));
    this.environment = {
      ...Object.fromEntries(inherited),
      ...{ EMU_GPUS: gpusMib.join(','), EMU_LEDGER: this.#ledger, ...extra },
      ...{ XDG_RUNTIME_DIR: this.directory, XDG_STATE_HOME: this.directory, NODE_ENV: 'production' },
    };
    process.once('exit', this.#abandoned);
  }

  /** The emulated ledger itself. */
  async gpus(): Promise<readonly EmulatedGpu[]> {
    const { gpus } = JSON.parse(await this.#read('emu-ctl', 'show')) as { gpus: readonly ShownGpu[] };
    return gpus.map(({ index, uuid, total, used, peak, oom, procs }) => ({
      ...{ index, uuid, totalBytes: total, usedBytes: used, peakBytes: peak, refusals: oom },
      processes: procs.map(({ pid, used: bytes, name }) => ({ pid, usedBytes: bytes, program: name })),
    }));
  }

  /** Bytes in use on each GPU, by the emulated NVML. */
  async usedByNvml(): Promise<readonly Bytes[]> {
    const { gpus } = JSON.parse(await this.#read('nvml-dump')) as { gpus: readonly DumpedGpu[] };
    return gpus.map(({ used }) => used);
  }

  /** Bytes in use on each GPU, by `nvidia-smi`, to a MiB. */
  async usedByNvidiaSmi(): Promise<readonly Bytes[]> {
    const query = ['--query-gpu=memory.used', '--format=csv,noheader,nounits'];
    const rows = (await this.#read('nvidia-smi', ...query)).trim().split('\n');
    return rows.map((row) => Number(row) * MIB);
  }

  /** The driver misbehaves from now on, as `emu-ctl fault` describes it; null: it is well again. */
  async fault(rule: string | null): Promise<void> {
    await this.#read('emu-ctl', 'fault', rule ?? 'clear');
  }

  /** Allocations refused on all GPUs. */
  async refusals(): Promise<number> {
    return (await this.gpus()).reduce((sum, gpu) => sum + gpu.refusals, 0);
  }

  /** A program that is not ours takes memory on one GPU, all at once or little by little. */
  async foreignProgram(gpu: number, mib: number, growMibPerSecond: number | null = null): Promise<ChildProcess> {
    const grow = growMibPerSecond === null ? [] : ['--grow', String(growMibPerSecond)];
    const child = this.start('emu-ctl', ['hog', String(gpu), String(mib), ...grow]);
    const { pid } = child;
    await until('the foreign program holds memory', async () =>
      (await this.gpus())[gpu]?.processes.some((other) => other.pid === pid),
    );
    return child;
  }

  /** Ends a program that was started here, and waits until it has gone. */
  async endProgram(child: ChildProcess): Promise<void> {
    await end(child, 'SIGKILL');
  }

  /** Starts a program that sees the emulated GPUs. */
  start(program: string, args: readonly string[]): ChildProcess {
    const options = { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] } satisfies SpawnOptions;
    const child = spawn(this.rig.emuEnv, [program, ...args], options);
    this.#started.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#abandoned);
    await Promise.all(this.#started.map((child) => end(child, 'SIGKILL')));
    this.#remove();
  }

  /** This run ends before its time: nothing that it has started stays. */
  #abandon(): void {
    for (const child of this.#started) child.kill('SIGKILL');
    this.#remove();
  }

  #remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
    rmSync(this.#ledger, { force: true });
    rmSync(`${this.#ledger}.fault`, { force: true });
  }

  async #read(program: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await execa(this.rig.emuEnv, [program, ...args], { env: this.environment, extendEnv: false });
    return stdout;
  }
}

/** Ends a process that this run has started, and waits until it has gone. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
