import { MIB, type Bytes, type DeviceName } from '../../scheduler/units.js';
import { isHostBuffer } from '../memory-table.js';
import type { ChildMemory, MemoryRow } from '../messages.js';
import type { BufferUse, MemoryLine } from './memory-lines.js';

/** A child that loads a model, its draft and its trials over and over says no more than this that matters. */
const LOADS_KEPT = 16;
/** Different buffers of one load, and different devices; a log is untrusted. */
const BUFFERS_KEPT = 512;
const DEVICES_KEPT = 64;
/** No device of any machine is larger; what is, is no figure. */
const LARGEST_FIGURE: Bytes = 1024 * 1024 * 1024 * MIB;

interface Buffer {
  readonly name: string;
  readonly use: BufferUse;
  bytes: Bytes;
}

/** One reading of a model file, with the buffers that were made for it. */
interface Load {
  readonly path: string;
  /** Null: the log does not say whether it is a trial. */
  trial: boolean | null;
  contexts: number;
  /** True once it has more than weights: weights after that are another load's. */
  beyondWeights: boolean;
  readonly buffers: Map<string, Buffer>;
}

interface DeviceFigures {
  total?: Bytes;
  /** Before the first load, the process's own context already taken. */
  free?: Bytes;
}

/**
 * Adds up the buffers that llama.cpp's log tells of. A child may read the same file twice, first to see what fits: where
 * the log says which load is such a trial, that one does not count; where it does not, the last load of a file does.
 */
export class LogMemory {
  #loads: Load[] = [];
  readonly #devices = new Map<DeviceName, DeviceFigures>();
  #projectorBytes: Bytes = 0;

  take(line: MemoryLine): void {
    switch (line.kind) {
      case 'load':
        this.#begin(line.path);
        return;
      case 'trial':
        this.#current().trial = line.trial;
        return;
      case 'context':
        this.#current().contexts += 1;
        return;
      case 'buffer':
        this.#takeBuffer(line);
        return;
      case 'projector':
        this.#projectorBytes = line.bytes;
        return;
      case 'projector-on':
        this.#takeBuffer({
          name: line.name,
          use: 'model',
          maker: 'projector',
          replaces: true,
          bytes: this.#projectorBytes,
        });
        return;
      case 'device':
        if (line.freeBytes <= line.totalBytes) this.#device(line.name, { total: line.totalBytes });
        return;
      case 'using':
        if (this.#devices.get(line.name)?.free === undefined) this.#device(line.name, { free: line.freeBytes });
        return;
    }
  }

  /** What was allocated has been let go: what the log tells from now on counts alone. */
  clear(): void {
    this.#loads = [];
    for (const figures of this.#devices.values()) delete figures.free;
  }

  /** Everything that was allocated; null when the log told nothing of it. */
  table(contextTokens: number | null): ChildMemory | null {
    const sums = new Map<string, Record<BufferUse, Bytes>>();
    for (const { buffers } of this.#counting()) {
      for (const { name, use, bytes } of buffers.values()) {
        const owner = isHostBuffer(name) ? HOST_ROW : name;
        const sum = sums.get(owner) ?? { model: 0, context: 0, compute: 0 };
        sums.set(owner, { ...sum, [use]: sum[use] + bytes });
      }
    }
    if (sums.size === 0) return null;
    const devices = [...sums].map(([name, sum]) => this.#row(name, sum));
    return { n_ctx: contextTokens ?? 0, devices };
  }

  #counting(): readonly Load[] {
    if (this.#loads.some(({ trial }) => trial !== null)) return this.#loads.filter(({ trial }) => trial !== true);
    return this.#loads.filter((load, index) => !this.#loads.slice(index + 1).some(({ path }) => path === load.path));
  }

  #row(name: string, sum: Record<BufferUse, Bytes>): MemoryRow {
    if (name === HOST_ROW) return { kind: 'host', name, ...sum };
    if (name.includes('_')) return { kind: 'buffer_type', name, ...sum };
    const { total, free } = this.#devices.get(name) ?? {};
    if (total === undefined || free === undefined) return { kind: 'device', name, ...sum };
    const left = Math.max(0, Math.min(free, total) - sum.model - sum.context - sum.compute);
    return { kind: 'device', name, total, free: left, ...sum };
  }

  #begin(path: string): Load {
    const load = { path, trial: null, contexts: 0, beyondWeights: false, buffers: new Map<string, Buffer>() };
    this.#loads = [...this.#loads.slice(-(LOADS_KEPT - 1)), load];
    return load;
  }

  #current(): Load {
    return this.#loads.at(-1) ?? this.#begin('');
  }

  #takeBuffer({ name, use, maker, replaces, bytes }: Omit<Extract<MemoryLine, { kind: 'buffer' }>, 'kind'>): void {
    if (!(bytes <= LARGEST_FIGURE)) return;
    let load = this.#current();
    // A build that does not name the file that it reads again.
    if (maker.startsWith('load_tensors') && load.beyondWeights) load = this.#begin(load.path);
    if (!maker.startsWith('load_tensors')) load.beyondWeights = true;
    const key = `${load.contexts} ${maker} ${name}`;
    const known = load.buffers.get(key);
    if (known !== undefined) known.bytes = replaces ? bytes : Math.min(LARGEST_FIGURE, known.bytes + bytes);
    else if (load.buffers.size < BUFFERS_KEPT) load.buffers.set(key, { name, use, bytes });
  }

  #device(name: DeviceName, figures: DeviceFigures): void {
    if (!this.#devices.has(name) && this.#devices.size >= DEVICES_KEPT) return;
    this.#devices.set(name, { ...this.#devices.get(name), ...figures });
  }
}

const HOST_ROW = 'Host';
