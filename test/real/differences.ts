import type { Supervised } from './supervised.js';

/** What is shown otherwise than it is, a sentence each, and how many figures were compared. */
export interface Differences {
  readonly faults: readonly string[];
  readonly compared: number;
}

/** At rest: totals, what is in use, what each of our processes and each other program holds, against the ledger itself. */
export async function differencesToLedger(supervised: Supervised): Promise<Differences> {
  const { devices, models } = await supervised.untilAtRest();
  const faults: string[] = [];
  let compared = 0;
  const same = (what: string, ours: unknown, theirs: unknown): void => {
    compared += 1;
    if (JSON.stringify(ours) === JSON.stringify(theirs)) return;
    faults.push(`${what}: ${JSON.stringify(ours)} is shown, ${JSON.stringify(theirs)} is there`);
  };
  for (const { index, totalBytes, usedBytes, processes } of await supervised.machine.gpus()) {
    const name = `CUDA${index}`;
    const device = devices.find((known) => known.name === name);
    const ours = models.filter(({ pid }) => pid !== null);
    const resident = ours.reduce((sum, model) => sum + (model.resident[name] ?? 0), 0);
    same(`total of ${name}`, device?.totalBytes, totalBytes);
    same(`use of ${name}`, resident + (device?.externalBytes ?? 0), usedBytes);
    for (const model of ours) {
      const held = processes.find(({ pid }) => pid === model.pid)?.usedBytes ?? 0;
      same(`${model.id} on ${name}`, model.resident[name] ?? 0, held);
    }
    const strangers = processes.filter(({ pid }) => !ours.some((model) => model.pid === pid));
    same(
      `other programs on ${name}`,
      device?.foreign.map(({ pid, bytes }) => [pid, bytes]),
      strangers.map(({ pid, usedBytes: bytes }) => [pid, bytes]),
    );
  }
  return { faults, compared };
}
