import type { Millis } from '../scheduler/units.js';
import type { ChildOption } from './entry.js';

/** What one place says about models: a preset section, `[*]`, or the command line. A field that is absent is unsaid. */
export interface ModelSettings {
  /** By long name, in the order in which they were given; a flag has `true` or `false`. */
  readonly options: ReadonlyMap<string, ChildOption['value']>;
  readonly pin?: boolean;
  readonly priority?: number;
  readonly loadOnStartup?: boolean;
  /** 0: never. */
  readonly idleTimeoutMillis?: Millis;
  readonly stopTimeoutMillis?: Millis;
  /** 0: never. */
  readonly loadTimeoutMillis?: Millis;
  /** The engine that it asks for, and the line of the preset where it does. */
  readonly engine?: { readonly name: 'auto' | 'llama-server' | 'embedded' | 'sim'; readonly line: number };
  /** Models of the cache that load the same file are hidden. */
  readonly dedupCacheModels?: boolean;
}

export const NO_SETTINGS: ModelSettings = { options: new Map() };

/** Lays `over` over `base`: what both say, `over` decides. */
export function layer(base: ModelSettings, over: ModelSettings): ModelSettings {
  return { ...base, ...over, options: new Map([...base.options, ...over.options]) };
}

/** The items of a comma list, trimmed, without empty and repeated ones. */
export function commaList(value: ChildOption['value'] | undefined): string[] {
  if (typeof value !== 'string') return [];
  const items = value.split(',').map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ''))];
}
