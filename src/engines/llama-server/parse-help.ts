import type { OptionSpec, OptionTable } from '../../catalog/option-table.js';
import { readAllowedValues } from './allowed-values.js';

/** Where llama.cpp's help puts descriptions; a longer left side has its description on the next line. */
const DESCRIPTION_COLUMN = 40;

/** What prints something and exits, or stands for a certain model: nothing that a preset could say. */
const NO_SETTING = /^(?:help|usage|version|license|cache-list|completion-bash|list-devices)$|-default$/;
const SETTING = new Set(['spec-default']);

/**
 * Reads the option table from the text of `llama-server --help`. An option begins with a dash in the first
 * column, and its last long spelling is its name (as in llama-server's own presets); the lines below belong
 * to it, and `(env: NAME)` among them names its variable.
 */
export function parseHelp(text: string): OptionTable {
  const table: OptionSpec[] = [];
  let block: string[] = [];
  const finish = (): void => {
    const spec = readBlock(block);
    if (spec) table.push(spec);
    block = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('-----')) finish();
    else if (line.startsWith('-')) {
      finish();
      block = [line];
    } else if (block.length > 0 && /^\s/.test(line)) block.push(line);
    else finish();
  }
  finish();
  return table;
}

/**
 * The verbosity at which a build logs its buffers, where it does not by default. Builds of 2026 count them as "trace";
 * older ones log them as soon as they log anything, and have no such word in their help: null.
 */
export function parseBufferVerbosity(text: string): number | null {
  const [, block] = /^(?=-).*--log-verbosity N\b([\s\S]*?)(?=^-)/m.exec(text) ?? [];
  const trace = /^\s+- (\d+): trace\b/m.exec(block ?? '')?.[1];
  const usual = /\(default: (\d+)\)/.exec(block ?? '')?.[1];
  return trace === undefined || usual === undefined || Number(usual) >= Number(trace) ? null : Number(trace);
}

function readBlock(lines: readonly string[]): OptionSpec | null {
  const [first] = lines;
  if (first === undefined) return null;
  const fits = first.length <= DESCRIPTION_COLUMN || first[DESCRIPTION_COLUMN - 1] === ' ';
  const left = fits ? first.slice(0, DESCRIPTION_COLUMN) : first;
  const spellings = /^(?:-{1,2}[A-Za-z][\w.-]*(?:\s*,\s*(?=-))?)+/.exec(left)?.[0];
  if (spellings === undefined) return null;
  const values = left.slice(spellings.length).trim();
  // Two values cannot be written in a preset.
  if (/^[A-Z]+ [A-Z]+$/.test(values)) return null;
  const dashed = spellings.split(/\s*,\s*/);
  const long = dashed.filter((spelling) => spelling.startsWith('--')).map((spelling) => spelling.slice(2));
  const all = dashed.map((spelling) => spelling.replace(/^--?/, ''));
  // The negated spellings follow the plain ones: "-kvo, --kv-offload, -nkvo, --no-kv-offload".
  const name = long.findLast((spelling) => !spelling.startsWith('no-')) ?? long.at(-1) ?? all.at(-1);
  if (name === undefined || (NO_SETTING.test(name) && !SETTING.has(name))) return null;
  const negatable = long.includes(`no-${name}`);
  const plain = all.slice(0, all.indexOf(name) + 1);
  const negatedAliases = negatable
    ? all.filter((spelling) => !plain.includes(spelling) && spelling !== `no-${name}`)
    : [];
  const description = [fits ? first.slice(DESCRIPTION_COLUMN) : '', ...lines.slice(1)]
    .map((line) => line.trim())
    .join(' ');
  const allowed = readAllowedValues(values, description);
  return {
    name,
    aliases: all.filter(
      (spelling) => spelling !== name && spelling !== `no-${name}` && !negatedAliases.includes(spelling),
    ),
    takesValue: values !== '',
    negatable,
    env: /\(env: ([A-Z0-9_]+)\)/.exec(description)?.[1] ?? null,
    ...(negatedAliases.length > 0 ? { negatedAliases } : {}),
    ...(allowed === undefined ? {} : { allowed }),
  };
}
