import { spawnChild, type ChildProcessHandle } from '../engines/child-process.js';
import { renameInMessage, renameInVerdict, type DeviceNames } from '../engines/device-names.js';
import type { Engine, ExitEvidence } from '../engines/engine.js';
import { freePort } from '../engines/free-port.js';
import { reportsOf } from '../engines/memory-table.js';
import { SLEEP_MESSAGE, type ChildMemory, type ChildMeta, type ChildMessage } from '../engines/messages.js';
import type { ProcessTree } from '../devices/probe.js';
import type { CatalogEntry } from '../catalog/entry.js';
import type { Effect } from '../scheduler/effects.js';
import type { EventBody } from '../scheduler/events.js';
import type { Release } from '../scheduler/state.js';
import type { Bytes, ModelId } from '../scheduler/units.js';
import type { InstanceRecords } from './instance-records.js';
import { MessagePace } from './message-pace.js';

/** Log lines of an exited child that are kept with the report of its exit. */
const REPORTED_LINES = 20;
const LONGEST_REPORTED_LINE_CHARS = 1000;
const LONGEST_REASON_CHARS = 300;

interface Child {
  readonly model: ModelId;
  readonly generation: number;
  readonly port: number;
  /** Our names of devices, by its own. */
  readonly names: DeviceNames;
  readonly handle: ChildProcessHandle;
  /** At its end. */
  readonly forget: () => void;
  readonly pace: MessagePace;
  /** What it said that it allocated; null until it did. */
  memory: ChildMemory | null;
  meta: ChildMeta | null;
  /** What of its answers has reached clients. */
  forwardedBytes: Bytes;
}

export interface ChildrenOptions {
  readonly engine: Engine;
  readonly entry: (model: ModelId) => CatalogEntry | null;
  readonly records: InstanceRecords;
  readonly dispatch: (event: EventBody) => void;
  /** Every line of every instance, safe to show. */
  readonly onLog: (model: ModelId, line: string) => void;
}

/** The child processes: starts and stops them, and turns what they say and how they end into events. */
export class Children {
  readonly #options: ChildrenOptions;
  readonly #running = new Map<number, Child>();
  /** Stops asked for before the child was there. */
  readonly #stopsBeforeSpawn = new Map<number, Extract<Effect, { type: 'stop' }>>();
  /** The log of the latest instance of each model, running or not. */
  readonly #logs = new Map<ModelId, () => readonly string[]>();
  /** What each model's latest exited instance said last. */
  readonly #lastLines = new Map<ModelId, { readonly generation: number; readonly lines: readonly string[] }>();

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  spawn(effect: Extract<Effect, { type: 'spawn' }>): void {
    void this.#spawn(effect).catch((error: unknown) => {
      this.#exited(effect, {
        exitCode: null,
        signal: null,
        asked: false,
        lastLines: [error instanceof Error ? error.message : String(error)],
      });
    });
  }

  stop(effect: Extract<Effect, { type: 'stop' }>): void {
    const child = this.#running.get(effect.generation);
    if (child === undefined) this.#stopsBeforeSpawn.set(effect.generation, effect);
    else child.handle.stop({ loading: effect.loading, timeoutMillis: effect.timeoutMillis });
  }

  /** Tells an idle child to leave memory; it says when it has. */
  park(generation: number): void {
    this.#running.get(generation)?.handle.send(SLEEP_MESSAGE);
  }

  /** Where a generation listens, or null when it has gone. */
  portOf(generation: number): number | null {
    return this.#running.get(generation)?.port ?? null;
  }

  /** Something of a generation's answer has reached a client. */
  forwarded(generation: number, bytes: Bytes): void {
    const child = this.#running.get(generation);
    if (child !== undefined) child.forwardedBytes += bytes;
  }

  /** Everything that has come out of a generation so far, by its pipes and by its answers. */
  bytesOf(generation: number): Bytes {
    const child = this.#running.get(generation);
    return child === undefined ? 0 : child.handle.printedBytes() + child.forwardedBytes;
  }

  /** What a generation said that it allocated, or null. */
  memoryOf(generation: number): ChildMemory | null {
    return this.#running.get(generation)?.memory ?? null;
  }

  /** What a generation said of its model, or null. */
  metaOf(generation: number): ChildMeta | null {
    return this.#running.get(generation)?.meta ?? null;
  }

  /** The last log lines of the model's latest instance, oldest first. */
  logsOf(model: ModelId): readonly string[] {
    return this.#logs.get(model)?.() ?? [];
  }

  /** The last log lines of an exited instance, oldest first; empty when a later one has exited since. */
  lastLinesOf(model: ModelId, generation: number): readonly string[] {
    const last = this.#lastLines.get(model);
    return last?.generation === generation ? last.lines : [];
  }

  /** The processes whose memory is ours: running ones, and those whose memory may not be back yet. */
  trees(releases: readonly Release[]): readonly ProcessTree[] {
    const running = [...this.#running.values()].flatMap(({ model, generation, handle }) =>
      handle.pid === null ? [] : [{ model, generation, pids: [handle.pid] }],
    );
    const gone = releases.flatMap(({ model, generation, pid }) =>
      pid === null || this.#running.has(generation) ? [] : [{ model, generation, pids: [pid] }],
    );
    return [...running, ...gone];
  }

  /** Last resort when this process has to end now. */
  killAll(): void {
    for (const child of this.#running.values()) child.handle.kill();
  }

  async #spawn({ model, generation, devices }: Extract<Effect, { type: 'spawn' }>): Promise<void> {
    const { engine, entry, dispatch, records } = this.#options;
    const found = entry(model);
    if (found === null) throw new Error(`model '${model}' is no longer in the catalog`);
    const port = await freePort();
    const stopped = this.#takeStop(generation);
    if (stopped) {
      this.#exited({ model, generation }, { exitCode: null, signal: null, asked: true, lastLines: [] });
      return;
    }
    const command = engine.command({ entry: found, port, devices, role: 'instance' });
    const { deviceNames: names = {} } = command;
    const pace = new MessagePace((message) => this.#said(model, generation, message));
    const handle = spawnChild({
      command,
      reader: engine.reader(),
      onMessage: (said) => {
        const message = renameInMessage(said, names);
        const child = this.#running.get(generation);
        // A child that wakes says nothing of its memory: it holds what it held before.
        if (child !== undefined && message.type === 'ready') {
          child.memory = message.memory ?? child.memory;
          child.meta = message.meta ?? child.meta;
        }
        pace.take(message);
      },
      onLog: (line) => this.#options.onLog(model, line),
      onExit: (evidence) => this.#exited({ model, generation }, evidence),
    });
    const forget = records.add(handle.pid, command, model);
    const about = { model, generation, port, names };
    this.#running.set(generation, { ...about, handle, forget, pace, memory: null, meta: null, forwardedBytes: 0 });
    this.#logs.set(model, () => handle.lines());
    if (handle.pid !== null) dispatch({ type: 'spawned', model, generation, pid: handle.pid });
  }

  #takeStop(generation: number): boolean {
    return this.#stopsBeforeSpawn.delete(generation);
  }

  #said(model: ModelId, generation: number, message: ChildMessage): void {
    const { dispatch } = this.#options;
    switch (message.type) {
      case 'loading':
        if (message.progress !== null) dispatch({ type: 'progress', model, generation, value: message.progress });
        return;
      case 'ready': {
        const { contextTokens, effective, memory = null } = message;
        const reports = memory === null ? [] : reportsOf(memory);
        dispatch({ type: 'ready', model, generation, contextTokens, effective, reports });
        return;
      }
      case 'sleeping':
        dispatch({ type: 'sleeping', model, generation });
        return;
      case 'measured':
        // Said by nobody who serves a model.
        return;
    }
  }

  #exited({ model, generation }: { model: ModelId; generation: number }, evidence: ExitEvidence): void {
    const child = this.#running.get(generation);
    child?.forget();
    child?.pace.close();
    this.#running.delete(generation);
    this.#stopsBeforeSpawn.delete(generation);
    const verdict = renameInVerdict(this.#options.engine.classify(evidence), child?.names ?? {});
    const { exitClass, reason, device, askedBytes } = verdict;
    const { exitCode, signal, lastLines } = evidence;
    this.#lastLines.set(model, {
      generation,
      lines: lastLines.slice(-REPORTED_LINES).map((line) => cut(line, LONGEST_REPORTED_LINE_CHARS)),
    });
    this.#options.dispatch({
      type: 'exited',
      model,
      generation,
      exitClass,
      exitCode,
      signal,
      reason: cut(reason, LONGEST_REASON_CHARS),
      device,
      askedBytes,
    });
  }
}

function cut(text: string, mostChars: number): string {
  return text.length > mostChars ? `${text.slice(0, mostChars - 1)}…` : text;
}
