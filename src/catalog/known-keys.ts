/** Keys that llama-server reads from presets only; no child ever sees them. */
const LLAMA_SERVER_PRESET_ONLY = ['load-on-startup', 'stop-timeout', 'dedup-cache-models'] as const;

/** Keys of our own; no child ever sees them either. */
const OUR_PRESET_ONLY = ['pin', 'priority', 'idle-timeout', 'load-timeout', 'engine'] as const;

export type PresetOnlyKey = (typeof LLAMA_SERVER_PRESET_ONLY)[number] | (typeof OUR_PRESET_ONLY)[number];

export const PRESET_ONLY_KEYS: readonly PresetOnlyKey[] = [...LLAMA_SERVER_PRESET_ONLY, ...OUR_PRESET_ONLY];

/** Options by which a child knows what to load. */
export const MODEL_OPTIONS: readonly string[] = ['model', 'model-url', 'docker-repo', 'hf-repo'];

/**
 * Options that are about one model and mean nothing for every child: on the router's command line they are the
 * router's and are dropped, as llama-server drops them.
 */
export const ONE_MODEL_OPTIONS: readonly string[] = ['model', 'mmproj', 'alias', 'tags', 'hf-repo'];

/**
 * What gives llama-server's own page tools, some of which run commands. The page would ask the router for them, which has
 * none; a child that had them would only be one more door.
 */
const OF_PAGE_TOOLS: ReadonlySet<string> = new Set([
  ...['tools', 'tools-runtime', 'mcp-servers-config', 'mcp-servers-json', 'agent'],
  ...['ui-mcp-proxy', 'webui-mcp-proxy'],
]);

export function isOfPageTools(name: string): boolean {
  return OF_PAGE_TOOLS.has(name);
}

const ROUTER_OWNED: ReadonlySet<string> = new Set([
  'host',
  'port',
  'reuse-port',
  'api-prefix',
  'api-key',
  'api-key-file',
  'ssl-key-file',
  'ssl-cert-file',
  'LLAMA_API_KEY',
  'LLAMA_ARG_HOST',
  'LLAMA_ARG_PORT',
]);

export function isPresetOnly(key: string): key is PresetOnlyKey {
  return (PRESET_ONLY_KEYS as readonly string[]).includes(key);
}

/** True for what the router decides itself: where it listens, who may ask, where its models come from. */
export function isRouterOwned(name: string): boolean {
  return (
    ROUTER_OWNED.has(name) || /^(?:no-)?models-/u.test(name) || /^LLAMA_ARG_(?:NO_)?(?:MODELS|SSL|API_KEY)_/u.test(name)
  );
}
