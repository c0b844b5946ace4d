import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceName, Millis } from '../../scheduler/units.js';
import { nvidiaOnBus } from './on-bus.js';

export interface ExpectedGpusOptions {
  /** Where `dev` and `sys` are; default `/`. */
  readonly root?: string;
  /** `CUDA_VISIBLE_DEVICES` as the children have it; default: as this process has it. */
  readonly visibleDevices?: string | undefined;
  /** The devices that the engine says it can use; null where it does not say. */
  readonly engineDevices?: () => readonly DeviceName[] | null;
}

/** Words that a driver's library has too where it was only installed along with something else, and there is no GPU. */
const NOTHING_THERE = /driver not loaded|couldn't communicate|could not communicate|no devices? (?:were )?found/iu;

/** Bound to one of these it belongs to another machine, or to a driver that CUDA knows nothing of. */
const DRIVEN_BY_OTHERS: ReadonlySet<string> = new Set(['vfio-pci', 'nouveau']);

const KNOWN_FOR_MILLIS: Millis = 5000;

/**
 * Which GPUs there must be although nobody can read them, by what speaks for them: the engine's own list, the nodes of a
 * loaded driver, cards on the bus. Named as CUDA's children would name them; none where nothing speaks for any, so that
 * a machine without GPUs serves on its processor, whatever lies about on its disk.
 */
export class ExpectedGpus {
  readonly #options: ExpectedGpusOptions;
  #seen: { readonly at: Millis; readonly nodes: number; readonly cards: number } | null = null;

  constructor(options: ExpectedGpusOptions = {}) {
    this.#options = options;
  }

  /** @param words what the driver said; null: there is no driver to ask */
  names(words: string | null): readonly DeviceName[] {
    const { engineDevices } = this.#options;
    const ofEngine = engineDevices?.()?.filter((name) => /^CUDA\d+$/u.test(name)) ?? [];
    // It has asked the same driver, with the same environment.
    if (ofEngine.length > 0) return ofEngine;
    const count = Math.min(this.#count(words), visibleAtMost(this.#visibleDevices()));
    return Array.from({ length: count }, (_, index) => `CUDA${index}`);
  }

  #count(words: string | null): number {
    const { nodes, cards } = this.#look();
    // Cards alone say little: a container sees the bus of a machine that has lent it none of them.
    if (words === null) return nodes;
    const there = Math.max(nodes, cards);
    return there === 0 && !NOTHING_THERE.test(words) ? 1 : there;
  }

  #look(): { readonly nodes: number; readonly cards: number } {
    const at = performance.now();
    if (this.#seen !== null && at - this.#seen.at < KNOWN_FOR_MILLIS) return this.#seen;
    const { root = '/' } = this.#options;
    const cards = nvidiaOnBus(join(root, 'sys/bus/pci/devices'));
    this.#seen = {
      at,
      nodes: namesIn(join(root, 'dev')).filter((name) => /^nvidia\d+$/u.test(name)).length,
      cards: cards.filter(({ driver }) => driver === null || !DRIVEN_BY_OTHERS.has(driver)).length,
    };
    return this.#seen;
  }

  #visibleDevices(): string | undefined {
    return 'visibleDevices' in this.#options ? this.#options.visibleDevices : process.env['CUDA_VISIBLE_DEVICES'];
  }
}

/** How many a child can see at most: what follows `-1` or nothing it does not see. */
function visibleAtMost(visibleDevices: string | undefined): number {
  if (visibleDevices === undefined) return Infinity;
  const tokens = visibleDevices.split(',').map((token) => token.trim());
  const end = tokens.findIndex((token) => !/^(?:\d+|GPU-.*|MIG-.*)$/u.test(token));
  return end === -1 ? tokens.length : end;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
