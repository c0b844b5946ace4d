import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

const SOURCES = resolve(import.meta.dirname, 'gpu-rig');
/** What the build needs, and the Debian package that has it. */
const TOOLS = { git: 'git', cmake: 'cmake', ninja: 'ninja-build', 'g++': 'g++' } as const;
const HASH_CHARS = 12;

/** A real llama-server and emulated GPUs, ready to run. */
export interface Rig {
  readonly llamaServer: string;
  /** Runs a program in the rig's environment, `emu-env PROGRAM …`. */
  readonly emuEnv: string;
  /** Writes a model of a given size, `node mkmodel.mjs OUT.gguf MiB`. */
  readonly modelWriter: string;
}

/** The rig cannot be had; the message is one sentence. */
export class NoRig extends Error {
  override readonly name = 'NoRig';
}

/**
 * The rig in `$LLM_TUI_RIG`, or the one in the user's cache, which is built there (two minutes) if these sources have not
 * been built yet. Throws NoRig.
 */
export function findRig(): Rig {
  const given = process.env['LLM_TUI_RIG'];
  if (given !== undefined && given !== '') {
    if (!isBuilt(given))
      throw new NoRig(`LLM_TUI_RIG is ${given}, but there is no bin/llama-server with emu-env in it.`);
    return rigIn(given);
  }
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new NoRig('The emulated GPUs are for Linux on x86-64 only; there is nothing to test here.');
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const directory = join(cache, 'llm-tui', 'gpu-rig', hashOfSources());
  if (!isBuilt(directory)) build(directory);
  return rigIn(directory);
}

function rigIn(directory: string): Rig {
  const bin = join(resolve(directory), 'bin');
  return {
    llamaServer: join(bin, 'llama-server'),
    emuEnv: join(bin, 'emu-env'),
    modelWriter: join(SOURCES, 'mkmodel.mjs'),
  };
}

/** `emu-env` is put there last. */
function isBuilt(directory: string): boolean {
  return ['llama-server', 'emu-env'].every((program) => existsSync(join(directory, 'bin', program)));
}

/** The version of llama.cpp stands in build.sh, so that the hash of the sources names it too. */
function hashOfSources(): string {
  const texts = readdirSync(SOURCES)
    .filter((name) => name !== 'README.md')
    .sort()
    .map((name) => `${name}\n${readFileSync(join(SOURCES, name), 'utf8')}`);
  return hash('sha256', texts.join('\n'), 'hex').slice(0, HASH_CHARS);
}

function build(directory: string): void {
  const missing = Object.keys(TOOLS).filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
  if (missing.length > 0) {
    const packages = missing.map((tool) => TOOLS[tool as keyof typeof TOOLS]).join(' ');
    throw new NoRig(
      `To build a llama-server with emulated GPUs, ${missing.join(', ')} must be installed (apt-get install ${packages}), ` +
        'or LLM_TUI_RIG must name a directory where it was built.',
    );
  }
  console.log(`building a llama-server with emulated GPUs in ${directory}, once; this takes some minutes`);
  try {
    execFileSync(join(SOURCES, 'build.sh'), [directory], { stdio: 'inherit' });
  } catch (cause) {
    throw new NoRig(`The build failed; its logs are in ${join(directory, 'work')}.`, { cause });
  }
  // Sources and objects, half a gigabyte: whoever changes the rig builds from the start.
  rmSync(join(directory, 'work'), { recursive: true, force: true });
}
