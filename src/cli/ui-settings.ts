import { readFileSync } from 'node:fs';
import type { ChildOption } from '../catalog/entry.js';
import { UsageError } from './usage-error.js';

const SETTINGS: ReadonlySet<string> = new Set(['ui-config', 'webui-config']);
const SETTINGS_FILE: ReadonlySet<string> = new Set(['ui-config-file', 'webui-config-file']);

/**
 * What llama-server's page is to start with, as `--ui-config` or `--ui-config-file` say it: the page asks the router, not
 * a model. Empty where nothing is said. Throws UsageError on what is no JSON object.
 */
export function uiSettings(commandLine: readonly ChildOption[]): object {
  const given = commandLine.findLast(({ name }) => SETTINGS.has(name) || SETTINGS_FILE.has(name));
  if (given === undefined) return {};
  const { name, value } = given;
  try {
    const text = SETTINGS_FILE.has(name) ? readFileSync(String(value), 'utf8') : String(value);
    const settings: unknown = JSON.parse(text);
    if (typeof settings === 'object' && settings !== null && !Array.isArray(settings)) return settings;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--${name} cannot be used (${why}).`, { cause });
  }
  throw new UsageError(`--${name} must be a JSON object.`);
}
