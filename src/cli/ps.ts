import type { Bytes, Snapshot } from '../client/types.js';
import { clientFor, snapshotOf, type ClientFlags } from './client-flags.js';

/** `llm-tui ps`: devices, models and queue, as the screen shows them; `--json` is the whole snapshot. */
export async function psCommand(flags: ClientFlags, json: boolean): Promise<void> {
  const client = await clientFor(flags);
  try {
    const snapshot = await snapshotOf(client);
    process.stdout.write(json ? `${JSON.stringify(snapshot, null, 2)}\n` : describe(snapshot));
  } finally {
    client.close();
  }
}

function describe(snapshot: Snapshot): string {
  const { devices, models, queue, supervisor } = snapshot;
  const lines = [
    `llm-tui ${supervisor.version} at ${supervisor.url}, engine ${supervisor.engine.name}`,
    '',
    ...table([
      ['DEVICE', 'HELD', 'RESERVED', 'EXTERNAL', 'FREE', 'TOTAL GiB'],
      ...devices.map((device) => [
        device.name,
        gib(device.heldBytes),
        gib(device.reservedBytes),
        gib(device.externalBytes),
        gib(device.freeBytes),
        gib(device.totalBytes),
      ]),
    ]),
    '',
    ...table([
      ['MODEL', 'STATE', 'ON', 'GiB', 'REQ'],
      ...models.map((model) => [
        printable(model.id) + (model.pinned ? ' *' : ''),
        model.word.toUpperCase() + (model.progress === null ? '' : ` ${Math.round(model.progress * 100)}%`),
        model.devices.join(','),
        gib(Object.values(model.claim).reduce((sum, bytes) => sum + bytes, 0)),
        String(model.requests),
      ]),
    ]),
    ...(queue.length === 0
      ? []
      : ['', 'waiting:', ...queue.map((entry) => `  ${entry.position}. ${printable(entry.why)}`)]),
  ];
  return `${lines.join('\n')}\n`;
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function gib(bytes: Bytes): string {
  return (bytes / 1024 ** 3).toFixed(1);
}

/** Names come from files and clients: nothing in them may move the cursor. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '');
}
