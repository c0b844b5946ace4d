import type { CatalogEntry, ChildOption } from '../../catalog/entry.js';
import { findOption, truthOf, type OptionTable } from '../../catalog/option-table.js';
import { MIB, type Bytes } from '../../scheduler/units.js';
import { renderArgs } from '../../catalog/build-entry.js';
import { classifyExit } from '../classify-exit.js';
import type { Command, Measurement } from '../engine.js';
import { whyNothing } from '../measure-by-role.js';
import type { ChildMemory, MeasuredResult, MemoryRow } from '../messages.js';

/** llama.cpp's `llama-fit-params`, as found beside a llama-server. */
export interface FitTool {
  /** Absolute path. */
  readonly file: string;
  /** What it understands: fewer options than llama-server does. */
  readonly options: OptionTable;
}

/** What the smallest context is when `--fit-ctx` does not say it (llama-server's default). */
const SMALLEST_FITTED_CONTEXT = 4096;

/**
 * A measurement by llama-fit-params, whose `--fit-print on` prints a line `DEVICE MODEL CONTEXT COMPUTE` in MiB for
 * each device, for exactly the context that it is given. So it is asked up to three times: what the smallest context
 * needs; which context would be fitted now, when that is open; and what that one needs.
 */
export function measureByFitTool(
  tool: FitTool,
  entry: CatalogEntry,
  placed: readonly ChildOption[],
  runnable: (args: readonly string[]) => Command,
): Measurement {
  const given = [...entry.options, ...placed].filter(({ name }) => isUnderstood(tool.options, name));
  const withContext = (contextTokens: number): readonly ChildOption[] => [
    ...given.filter(({ name }) => name !== 'ctx-size'),
    { name: 'ctx-size', value: String(contextTokens) },
  ];
  const print = (options: readonly ChildOption[]): Command => runnable([...renderArgs(options), '--fit-print', 'on']);

  const trained = entry.header?.trainedContextTokens ?? null;
  const smallest = Math.min(Number(readOption(entry, 'fit-ctx') ?? SMALLEST_FITTED_CONTEXT), trained ?? Infinity);
  // Without fitting, a context that is not given is the one that the model was trained for.
  const fits = truthOf(readOption(entry, 'fit') ?? 'on') !== false;
  const pinned = entry.contextTokens ?? (fits ? null : trained);
  let asking: 'min' | 'fit' | 'max' = 'min';
  let contextTokens = pinned ?? smallest;
  let rows: MemoryRow[] = [];
  let fitted: number | null = null;
  let min: ChildMemory | null = null;

  const measured = (max: ChildMemory): MeasuredResult => {
    return { result: 'measured', trainedContextTokens: trained, min: min ?? max, max };
  };
  const readTable = (): ChildMemory | null => {
    const devices = [...rows, ...extraFiles(entry, tool, rows)];
    const table = rows.length === 0 ? null : { n_ctx: contextTokens, devices };
    rows = [];
    return table;
  };

  return {
    command: print(withContext(contextTokens)),
    read(line) {
      const row = readRow(line);
      if (row !== null) rows.push(row);
      fitted ??= asking === 'fit' ? readFittedContext(line) : null;
      return null;
    },
    ended(evidence) {
      switch (asking) {
        case 'min': {
          min = readTable();
          if (min === null) {
            return { result: 'failed', error: whyNothing(classifyExit(evidence), evidence) };
          }
          if (pinned !== null) return measured(min);
          asking = 'fit';
          return runnable(renderArgs(given));
        }
        case 'fit': {
          rows = [];
          if (min !== null && (fitted === null || fitted <= smallest)) return measured(min);
          asking = 'max';
          contextTokens = fitted ?? smallest;
          return print(withContext(contextTokens));
        }
        case 'max': {
          const max = readTable() ?? min;
          return max === null ? { result: 'failed', error: 'llama-fit-params printed no figures' } : measured(max);
        }
      }
    },
  };
}

function isUnderstood(table: OptionTable, name: string): boolean {
  return findOption(table, name) !== null && !/^fit-print$/.test(name);
}

/** Such as `CUDA0 131 56 73`: whole MiB, which the tool has rounded down. */
function readRow(line: string): MemoryRow | null {
  const match = /^(\S+) (\d{1,9}) (\d{1,9}) (\d{1,9})\s*$/.exec(line);
  if (match === null) return null;
  const [, name = '', ...figures] = match;
  const [model = 0, context = 0, compute = 0] = figures.map(Number).map((mib) => (mib === 0 ? 0 : (mib + 1) * MIB));
  return { kind: name === 'Host' ? 'host' : 'device', name, model, context, compute };
}

/** Such as `-c 8192 -ngl 99 -ts 3,2`. */
function readFittedContext(line: string): number | null {
  const tokens = Number(/^-c (\d{1,9}) /.exec(line)?.[1] ?? 0);
  return tokens > 0 ? tokens : null;
}

/** A projector and a draft model are loaded too, on the first device, where the tool does not count them itself. */
function extraFiles({ files, options }: CatalogEntry, tool: FitTool, rows: readonly MemoryRow[]): readonly MemoryRow[] {
  const uncounted = new Set(
    [
      isUnderstood(tool.options, 'mmproj') ? null : files?.projector,
      isUnderstood(tool.options, 'model-draft') ? null : files?.draft,
    ].filter((path) => path != null),
  );
  const model: Bytes = (files?.stamps ?? []).reduce((sum, { path, sizeBytes }) => {
    return uncounted.has(path) ? sum + sizeBytes : sum;
  }, 0);
  const [first] = rows;
  if (model === 0 || first === undefined) return [];
  const onHost = options.some(({ name, value }) => name === 'mmproj-offload' && value === false);
  const { kind, name } = onHost ? { kind: 'host' as const, name: 'Host' } : first;
  return [{ kind, name, model, context: 0, compute: 0 }];
}

function readOption({ options }: CatalogEntry, name: string): string | null {
  const value = options.findLast((option) => option.name === name)?.value;
  return typeof value === 'string' ? value : null;
}
