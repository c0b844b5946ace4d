import type { DeviceName } from '../scheduler/units.js';
import type { ExitVerdict } from './engine.js';
import { sumPerDevice } from './memory-table.js';
import type { ChildMemory, ChildMessage, MeasuredResult } from './messages.js';

/** Our names of devices, by a child's own, where it sees only some of them and numbers them anew. */
export type DeviceNames = Readonly<Record<DeviceName, DeviceName>>;

/** What a child said, with devices by our names. */
export function renameInMessage(message: ChildMessage, names: DeviceNames): ChildMessage {
  switch (message.type) {
    case 'ready': {
      const memory = message.memory === undefined ? undefined : renameInMemory(message.memory, names);
      return memory === undefined ? message : { ...message, effective: sumPerDevice(memory), memory };
    }
    case 'measured':
      return { ...message, result: renameInResult(message.result, names) };
    case 'loading':
    case 'sleeping':
      return message;
  }
}

/** What measuring found out, with devices by our names. */
export function renameInResult(result: MeasuredResult, names: DeviceNames): MeasuredResult {
  if (result.result === 'failed') return { ...result, error: renameInText(result.error, names) };
  return { ...result, min: renameInMemory(result.min, names), max: renameInMemory(result.max, names) };
}

/** Why a child ended, with the device by our name, also in the sentence. */
export function renameInVerdict(verdict: ExitVerdict, names: DeviceNames): ExitVerdict {
  const { device, reason } = verdict;
  const ours = device === null ? null : ourName(device, names);
  if (device === null || ours === null || ours === device) return verdict;
  return { ...verdict, device: ours, reason: reason.replaceAll(new RegExp(`\\b${device}\\b`, 'g'), ours) };
}

function renameInText(text: string, names: DeviceNames): string {
  return text.replaceAll(/\b[A-Za-z]+\d+\b/gu, (word) => ourName(word, names));
}

function renameInMemory({ n_ctx, devices }: ChildMemory, names: DeviceNames): ChildMemory {
  return { n_ctx, devices: devices.map((row) => ({ ...row, name: ourName(row.name, names) })) };
}

function ourName(name: DeviceName, names: DeviceNames): DeviceName {
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}
