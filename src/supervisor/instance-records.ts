import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readStartTime } from '../devices/process-start.js';
import { programOf } from '../engines/program-of.js';
import type { Command } from '../engines/engine.js';

/** What tells one child from every other process, now and at the next start. */
export interface InstanceRecord {
  readonly pid: number;
  /** In clock ticks since boot; see readStartTime. */
  readonly startTime: string;
  /** Pids and start times begin anew with each boot. */
  readonly boot: string;
  /** Number of its arguments, and a digest of them: arguments may hold secrets. */
  readonly argCount: number;
  readonly argDigest: string;
  /** The port that its environment names, which its own children inherit. */
  readonly port: string;
  /** For people. */
  readonly name: string;
}

const EXTENSION = '.json';

/**
 * The children that live now, one small file for each, so that a supervisor that comes after this one can end what
 * this one could not. Only where the system tells when a process was started (Linux); elsewhere nothing is kept, and
 * the end of its stdin has to be enough for a child.
 */
export class InstanceRecords {
  readonly #directory: string;
  readonly #onError: (message: string) => void;
  readonly #boot: string | null = bootId();
  #hasFailed = false;

  constructor(directory: string, onError: (message: string) => void) {
    this.#directory = directory;
    this.#onError = onError;
  }

  /** To be called in the same turn in which the child was started. The returned function is for its end. */
  add(pid: number | null, command: Command, name: string): () => void {
    const startTime = pid === null ? null : readStartTime(pid);
    if (pid === null || startTime == null || this.#boot === null) return () => undefined;
    const { args } = programOf(command);
    const port = command.env['LLAMA_SERVER_ROUTER_PORT'] ?? '';
    const about = { argCount: args.length, argDigest: digestOf(args), port, name };
    this.#write({ pid, startTime, boot: this.#boot, ...about });
    return () => removeRecord(this.#pathOf(pid));
  }

  #pathOf(pid: number): string {
    return join(this.#directory, `${pid}${EXTENSION}`);
  }

  #write(record: InstanceRecord): void {
    const path = this.#pathOf(record.pid);
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.tmp`, JSON.stringify(record), { mode: 0o600 });
      renameSync(`${path}.tmp`, path);
    } catch (error) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const why = error instanceof Error ? error.message : String(error);
      this.#onError(
        `Running models cannot be recorded in ${this.#directory} (${why}); should this program be killed, they may be left over.`,
      );
    }
  }
}

/** What an earlier supervisor has left in the directory, less what cannot be read; with the files to remove. */
export function readRecords(directory: string): {
  readonly records: readonly InstanceRecord[];
  readonly files: readonly string[];
} {
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return { records: [], files: [] };
  }
  const files = names.map((name) => join(directory, name));
  return { files, records: files.filter((file) => file.endsWith(EXTENSION)).flatMap((file) => readRecord(file) ?? []) };
}

/** One that cannot be removed stays: it names a process that is no more, which the next start sees. */
export function removeRecord(path: string): void {
  try {
    rmSync(path, { force: true, recursive: true });
  } catch {
    // A disk that takes no records is told of where they are written; nothing that serves may end with it.
  }
}

function readRecord(path: string): InstanceRecord | null {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Record<keyof InstanceRecord, unknown>> | null;
    const { pid, startTime, boot, argCount, argDigest, port, name } = value ?? {};
    // Pid 1 is never ours, and what 0 and -1 mean to kill(2) is everybody.
    if (!Number.isSafeInteger(pid) || (pid as number) <= 1 || !Number.isSafeInteger(argCount)) return null;
    if (![startTime, boot, argDigest, port, name].every((text) => typeof text === 'string')) return null;
    return value as InstanceRecord;
  } catch {
    return null;
  }
}

export function digestOf(args: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(args)).digest('hex');
}

/** Which boot of the machine this is; null where that cannot be told. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}
