import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { findOption, type OptionTable } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { FitTool } from './fit-tool.js';
import { BinaryCache } from './binary-cache.js';
import { describeServer, describeTool } from './describe-program.js';
import { buildOf } from './read-build.js';

export interface FoundBinary {
  /** Absolute path. */
  readonly binary: string;
  /** Where it was found, for people. */
  readonly reason: string;
  /** What this very binary understands; absent when it did not say. */
  readonly options?: OptionTable;
  /** Names of the devices that it can use, none for a CPU build; absent when it did not say. */
  readonly devices?: readonly DeviceName[];
  /** Why it sees none of the devices that it was built for, in its library's words; absent: it sees some, or was not. */
  readonly blind?: string;
  /** Tells one build from another. */
  readonly build?: string;
  /** True when its children take the role `measure`. */
  readonly measureRole?: boolean;
  /** False for the oldest builds, whose children never say that they are ready. */
  readonly announcesReady?: boolean;
  /** The verbosity at which its children log their buffers; absent when they do so by default, or not at all. */
  readonly bufferVerbosity?: number;
  /** llama.cpp's tool beside the binary; absent when there is none, or none is needed. */
  readonly fitTool?: FitTool;
}

/**
 * Finds llama-server: the path given, else `LLAMA_SERVER`, else `llama-server` in PATH; null when there is
 * none. Throws an Error with one sentence when a path was given, by argument or variable, that is no program.
 */
export async function findLlamaServer(
  path: string | null,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  cache?: BinaryCache,
): Promise<FoundBinary | null> {
  const found = locate(path, environment);
  if (found === null) return null;
  const { binary } = found;
  const programs = cache ?? (await BinaryCache.open(null));
  const { options, devices, measureRole, announcesReady, bufferVerbosity } = await describeServer(
    binary,
    programs,
    environment,
  );
  const fitTool = measureRole ? null : await findFitTool(binary, programs);
  return {
    ...found,
    ...(options === null ? {} : { options }),
    ...(devices === null ? {} : { devices: devices.names }),
    ...(devices?.failure === undefined ? {} : { blind: devices.failure }),
    ...(bufferVerbosity === null ? {} : { bufferVerbosity }),
    build: buildOf(binary),
    measureRole,
    announcesReady,
    ...(fitTool === null ? {} : { fitTool }),
  };
}

async function findFitTool(binary: string, cache: BinaryCache): Promise<FitTool | null> {
  const file = join(dirname(binary), process.platform === 'win32' ? 'llama-fit-params.exe' : 'llama-fit-params');
  if (!isProgram(file)) return null;
  const { options } = await describeTool(file, cache);
  return options !== null && findOption(options, 'fit-print') !== null ? { file, options } : null;
}

function locate(path: string | null, environment: Readonly<Record<string, string | undefined>>): FoundBinary | null {
  if (path !== null) return { binary: demand(path, '--llama-server'), reason: 'given by --llama-server' };
  const variable = environment['LLAMA_SERVER'];
  if (variable) return { binary: demand(variable, 'LLAMA_SERVER'), reason: 'given by LLAMA_SERVER' };
  const names = process.platform === 'win32' ? ['llama-server.exe', 'llama-server'] : ['llama-server'];
  for (const directory of (environment['PATH'] ?? '').split(delimiter).filter((part) => part !== '')) {
    const binary = names.map((name) => resolve(directory, name)).find(isProgram);
    if (binary !== undefined) return { binary, reason: `found in PATH (${directory})` };
  }
  return null;
}

function demand(path: string, origin: string): string {
  const absolute = resolve(path);
  if (isProgram(absolute)) return absolute;
  const inside = join(absolute, 'llama-server');
  const hint = isProgram(inside) ? `; did you mean ${inside}?` : '; give the path of the llama-server program.';
  throw new Error(`${origin} says ${path}, which is no program that can be run${hint}`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
