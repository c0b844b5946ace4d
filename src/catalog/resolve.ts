import { distance } from 'fastest-levenshtein';
import type { CatalogEntry } from './entry.js';

/** What models are called by. */
type Named = Pick<CatalogEntry, 'id' | 'aliases'>;

/** The model that `name` means, by id or alias, exactly as written; null when there is none. */
export function resolveModel<Model extends Named>(entries: readonly Model[], name: string): Model | null {
  const byId = entries.find(({ id }) => id === name);
  return byId ?? entries.find(({ aliases }) => aliases.includes(name)) ?? null;
}

/** What a name longer than this is compared by; names come from clients. */
const COMPARED = 256;

/** Up to `count` ids and aliases spelled most like `name`, nearest first, for "did you mean". Capitals do not matter. */
export function nearestNames(entries: readonly Named[], name: string, count: number): string[] {
  const wanted = comparable(name);
  const names = entries.flatMap(({ id, aliases }) => [id, ...aliases]);
  const farthest = Math.max(3, Math.floor(wanted.length / 2));
  return names
    .map((candidate) => ({ candidate, far: farness(wanted, comparable(candidate)) }))
    .filter(({ far }) => far <= farthest)
    .sort((left, right) => left.far - right.far || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

function comparable(name: string): string {
  return name.slice(0, COMPARED).toLowerCase();
}

/** A part of a name is near it: `qwen3` is meant to find `qwen3-8b-q4_k_m`. */
function farness(wanted: string, candidate: string): number {
  if (wanted !== '' && wanted !== candidate && candidate.includes(wanted)) return 1;
  return distance(wanted, candidate);
}
