import { createHash } from 'node:crypto';
import type { ModelSpec, Placement } from '../scheduler/state.js';
import type { CatalogEntry } from './entry.js';
import { truthOf } from './option-table.js';

const NOTHING_KNOWN: Placement = { need: {}, quality: 'estimate' };

/**
 * What the scheduler has to know of an entry.
 * @param placements ways to lay it out, preferred first, from a measurement or an estimate
 * @param fingerprintExtra what else decides how the child is started: the engine, its binary, its environment
 * @param engineFits true for an engine whose child shrinks or splits a model to what is free, unless told not to
 */
export function toModelSpec(
  entry: CatalogEntry,
  placements: readonly Placement[],
  fingerprintExtra: string,
  engineFits = false,
): ModelSpec {
  return {
    id: entry.id,
    aliases: entry.aliases,
    // What cannot be started needs nothing, however large its file.
    placements: entry.invalid === null && placements.length > 0 ? placements : [NOTHING_KNOWN],
    // A child that fits nothing takes what it was given or made for, whatever is free.
    contextPinned: entry.contextTokens !== null || !engineFits,
    fits: engineFits && mayFit(entry),
    priority: entry.priority,
    pinned: entry.pin,
    stopTimeoutMillis: entry.stopTimeoutMillis,
    idleTimeoutMillis: entry.idleTimeoutMillis,
    invalid: entry.invalid,
    fingerprint: fingerprintOf(entry, fingerprintExtra),
    known: null,
  };
}

/** llama.cpp fits only what the user left open: with both context and layers given there is nothing to shrink. */
function mayFit(entry: CatalogEntry): boolean {
  const option = (name: string): string | null => {
    const value = entry.options.find((candidate) => candidate.name === name)?.value;
    return typeof value === 'string' ? value : null;
  };
  if (truthOf(option('fit') ?? 'on') === false) return false;
  const layers = option('n-gpu-layers');
  const layersPinned = layers !== null && layers !== 'auto';
  return !(layersPinned && entry.contextTokens !== null);
}

function fingerprintOf(entry: CatalogEntry, extra: string): string {
  const files =
    entry.files === null
      ? null
      : [entry.files.shards, entry.files.projector, entry.files.draft, entry.files.sizeBytes, entry.files.stamps ?? []];
  return createHash('sha256')
    .update(JSON.stringify([entry.args, files, extra]))
    .digest('hex')
    .slice(0, 32);
}
