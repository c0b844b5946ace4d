import { readFileSync } from 'node:fs';
import { readStartTime } from '../devices/process-start.js';
import { readProcessTable, type ProcessRow } from '../devices/process-table.js';
import { signalProcess } from '../engines/process-group.js';
import type { Millis } from '../scheduler/units.js';
import { bootId, digestOf, readRecords, removeRecord, type InstanceRecord } from './instance-records.js';

/** Time to leave in order, */
const TERM_MILLIS: Millis = 2000;
/** and for the system to end what was killed. */
const KILL_MILLIS: Millis = 2000;
const POLL_MILLIS: Millis = 20;

/**
 * Ends the children that an earlier supervisor was not able to end, and what they had started: asks first, then kills.
 * A process is touched only if pid, start time and command line are those of a child that was recorded; one that only
 * belongs to such a child's group, if it was started later and inherited that child's environment. To be called by
 * whoever owns the state directory, before any child is started. Returns one sentence for each child found.
 */
export async function endLeftovers(directory: string): Promise<readonly string[]> {
  const { records, files } = readRecords(directory);
  const boot = bootId();
  const candidates = records.filter((record) => record.boot === boot);
  const notices: string[] = [];
  if (candidates.length > 0) {
    const found = (await Promise.all(candidates.map(leftOf))).filter(({ pids }) => pids.length > 0);
    await Promise.all(
      found.map(async ({ record, pids }) => {
        const ended = await end(record);
        const what = `${record.name} (pid ${pids.join(', ')})`;
        notices.push(
          ended
            ? `An earlier supervisor was killed and had left ${what} behind; it has been ended.`
            : `An earlier supervisor had left ${what} behind, and it cannot be ended; it may hold memory.`,
        );
      }),
    );
  }
  for (const file of files) removeRecord(file);
  return notices;
}

interface Left {
  readonly record: InstanceRecord;
  readonly pids: readonly number[];
}

/** What still lives of a recorded child: itself and its group, or what is left of its group. */
async function leftOf(record: InstanceRecord): Promise<Left> {
  const group = ((await readProcessTable()) ?? []).filter((row) => row.group === record.pid);
  const leader = readStartTime(record.pid);
  // As long as a group of this number lives, the system gives the number to nobody else.
  const isOurs = leader == null ? (row: ProcessRow) => isDescendant(row.pid, record) : (): boolean => isChild(record);
  return { record, pids: group.filter(isOurs).map(({ pid }) => pid) };
}

function isChild({ pid, startTime, argCount, argDigest }: InstanceRecord): boolean {
  if (readStartTime(pid) !== startTime) return false;
  const words = readWords(pid, 'cmdline');
  // The program itself may have become another one, such as the interpreter of a script.
  return (
    words !== null && words.length > argCount && digestOf(argCount === 0 ? [] : words.slice(-argCount)) === argDigest
  );
}

function isDescendant(pid: number, { startTime, port }: InstanceRecord): boolean {
  const started = readStartTime(pid);
  if (started == null || Number(started) < Number(startTime) || port === '') return false;
  return readWords(pid, 'environ')?.includes(`LLAMA_SERVER_ROUTER_PORT=${port}`) ?? false;
}

function readWords(pid: number, file: 'cmdline' | 'environ'): readonly string[] | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return null;
  }
}

/** True once nothing of it lives any more. */
async function end(record: InstanceRecord): Promise<boolean> {
  for (const [signal, limitMillis] of [
    ['SIGTERM', TERM_MILLIS],
    ['SIGKILL', KILL_MILLIS],
  ] as const) {
    const limit = performance.now() + limitMillis;
    for (let isFirst = true; isFirst || performance.now() < limit; isFirst = false) {
      const { pids } = await leftOf(record);
      if (pids.length === 0) return true;
      // Each by itself, and only now: what was recognised a moment ago may be somebody else's the next.
      if (isFirst || signal === 'SIGKILL') for (const pid of pids) signalProcess(pid, signal);
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
    }
  }
  return (await leftOf(record)).pids.length === 0;
}
