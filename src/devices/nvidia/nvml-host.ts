import { createInterface } from 'node:readline';
import { loadNvml, type NvmlLibrary } from '../../../native/nvml-library.js';
import { openNvml, type Nvml, type NvmlActivity } from '../../../native/nvml.js';
import { dieWithParent } from '../../../native/parent-death.js';
import type { NvmlReply } from './nvml-reply.js';

/**
 * A program of its own that reads NVML: one line on stdin asks, one line of JSON on stdout answers. A driver that hangs
 * or crashes takes nothing along but this. (A thread could not be ended while it hangs in a foreign call, and would
 * keep its whole process from ending.) It ends when its stdin does, with its parent, and after every failure: a driver
 * that was replaced meanwhile can only be spoken to by a library that is loaded anew.
 */
function main(): void {
  dieWithParent();
  const library = load();
  if (library === null) return;
  const nvml = openOrSay(library);
  if (nvml === null) return;
  const activity = activityReader(nvml);
  createInterface({ input: process.stdin })
    .on('line', () => {
      const reply = attempt(() => {
        const gpus = nvml.read();
        return { driver: nvml.driverVersion, gpus, activity: activity(gpus.length) };
      });
      say(reply);
      if ('error' in reply) process.stdin.destroy();
    })
    .on('close', () => nvml.close());
}

/** Memory may be asked for seven times a second; how busy a GPU is, is an average over a second anyway. */
const ACTIVITY_MILLIS = 900;

function activityReader(nvml: Nvml): (gpus: number) => readonly (NvmlActivity | null)[] {
  let known: readonly (NvmlActivity | null)[] = [];
  let readAt = -Infinity;
  return (gpus) => {
    if (performance.now() - readAt < ACTIVITY_MILLIS && known.length === gpus) return known;
    readAt = performance.now();
    known = Array.from({ length: gpus }, (_, index) => {
      try {
        return nvml.activity(index);
      } catch {
        return null;
      }
    });
    return known;
  };
}

function load(): NvmlLibrary | null {
  try {
    return loadNvml();
  } catch (error) {
    say({ absent: error instanceof Error ? error.message : String(error) });
    return null;
  }
}

function openOrSay(library: NvmlLibrary): ReturnType<typeof openNvml> | null {
  try {
    return openNvml(library);
  } catch (error) {
    say({ error: error instanceof Error ? error.message : String(error) });
    return null;
  }
}

function attempt(read: () => NvmlReply): NvmlReply {
  try {
    return read();
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function say(reply: NvmlReply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

main();
