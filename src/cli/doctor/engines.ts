import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { libraryVersion } from '../../engines/embedded/model/library-version.js';
import { findLlamaServer, type FoundBinary } from '../../engines/llama-server/find-binary.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { Finding, Level } from './finding.js';
import type { ChosenEngine } from './serving.js';

const ANSWER_MILLIS = 10_000;
const INSTALL = 'install llama.cpp and put llama-server into PATH, or give its path with --llama-server';

/** What there is to run models with. */
export interface EnginesFound {
  readonly findings: readonly Finding[];
  /** The devices that the engine says it can use; null: it does not say, or there is none. */
  readonly devices: readonly DeviceName[] | null;
  /** The one that serving takes; null: there is none that runs. */
  readonly chosen: ChosenEngine | null;
}

/** Looks for both engines, and asks what they are. `path`: a llama-server that the user gave, or null. */
export async function lookAtEngines(path: string | null): Promise<EnginesFound> {
  const embedded = libraryVersion();
  let binary: FoundBinary | null;
  try {
    binary = await findLlamaServer(path);
  } catch (error) {
    // A path that was given and is wrong: serving would not start with it either.
    const text = error instanceof Error ? error.message : String(error);
    const fix = 'give the path of the program, or leave the flag and the variable away';
    const findings = [found('llama-server', 'fail', text, fix), embeddedFinding(embedded)];
    return { findings, devices: null, chosen: null };
  }
  if (binary !== null) {
    const findings = [await serverFinding(binary), ...measuring(binary), embeddedFinding(embedded)];
    return { findings, devices: binary.devices ?? null, chosen: { name: 'llama-server', ...binary } };
  }
  const none =
    embedded === ''
      ? found('llama-server', 'fail', 'there is none in PATH, and no engine in the box either', INSTALL)
      : found('llama-server', 'ok', 'none in PATH; models run with the engine in the box', null);
  const chosen = embedded === '' ? null : ({ name: 'embedded' } as const);
  return { findings: [none, embeddedFinding(embedded)], devices: null, chosen };
}

async function serverFinding(binary: FoundBinary): Promise<Finding> {
  const { version, problem } = await askVersion(binary.binary);
  const where = `${binary.binary} (${binary.reason})`;
  if (problem !== null) {
    const text = `${where} does not run: ${problem}`;
    return found(
      'llama-server',
      'fail',
      text,
      'run it by hand to see what it lacks, or give another with --llama-server',
    );
  }
  const devices = binary.devices === undefined ? '' : `; ${sayDevices(binary.devices)}`;
  return found('llama-server', 'ok', `${version}, ${where}${devices}`, null);
}

function sayDevices(devices: readonly DeviceName[]): string {
  return devices.length === 0 ? 'it sees no GPU' : `it sees ${devices.join(', ')}`;
}

function measuring({ measureRole = false, fitTool }: FoundBinary): readonly Finding[] {
  if (measureRole) return [found('measuring', 'ok', 'its children measure what a model needs', null)];
  if (fitTool !== undefined) return [found('measuring', 'ok', `by ${fitTool.file}`, null)];
  const text = 'it cannot tell what a model needs before loading it; that is estimated until it was seen at work';
  return [found('measuring', 'warn', text, 'put llama-fit-params, which llama.cpp builds too, beside llama-server')];
}

/** The first line of `--version`, which it prints on stderr; or its last words. */
async function askVersion(file: string): Promise<{ readonly version: string; readonly problem: string | null }> {
  const result = await execa(file, ['--version'], {
    reject: false,
    stdin: 'ignore',
    timeout: ANSWER_MILLIS,
    killSignal: 'SIGKILL',
    env: { LC_ALL: 'C' },
    maxBuffer: 1024 * 1024,
  });
  const { exitCode, stdout, stderr } = result;
  const lines = `${stderr}\n${stdout}`.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((one) => /^version: /u.test(one.trim()))?.trim();
  if (line !== undefined) return { version: line.replace(': ', ' '), problem: null };
  if (exitCode === 0) return { version: 'of unknown version', problem: null };
  return { version: '', problem: lines.at(-1)?.trim() ?? result.shortMessage ?? 'it says nothing' };
}

function embeddedFinding(version: string): Finding {
  if (version === '') {
    const text = 'the optional package node-llama-cpp is not installed';
    return found('in the box', 'ok', `${text}; a llama-server does without`, null);
  }
  const backends = installedBackends();
  if (backends.length === 0) {
    const text = `node-llama-cpp ${version}, without any binary for this machine`;
    return found('in the box', 'warn', text, 'install it anew with its optional packages (npm ci)');
  }
  return found('in the box', 'ok', `node-llama-cpp ${version}, with binaries for ${backends.join(', ')}`, null);
}

/** What the packages beside node-llama-cpp are for, of those for this platform: `cpu`, `cuda`, `vulkan`, `metal`. */
function installedBackends(): readonly string[] {
  const os = process.platform === 'win32' ? 'win' : process.platform === 'darwin' ? 'mac' : process.platform;
  const prefix = `${os}-${process.arch}`;
  try {
    const library = dirname(fileURLToPath(new URL('../package.json', import.meta.resolve('node-llama-cpp'))));
    const names = readdirSync(join(library, '..', '@node-llama-cpp')).filter((name) => name.startsWith(prefix));
    const kinds = names.map((name) => name.slice(prefix.length + 1) || 'cpu').filter((kind) => !kind.endsWith('-ext'));
    return [...new Set(kinds)].sort();
  } catch {
    return [];
  }
}

function found(name: string, level: Level, text: string, fix: string | null): Finding {
  return { area: 'engines', name, level, text, fix };
}
