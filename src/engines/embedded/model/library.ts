import { availableParallelism } from 'node:os';
import type { Llama } from 'node-llama-cpp';
import type { GpuKind } from '../devices.js';
import { ChildFailure } from '../failure.js';

export type Library = typeof import('node-llama-cpp');

/** node-llama-cpp, loaded and bound to the devices that this process may use. */
export interface Runtime {
  readonly library: Library;
  readonly llama: Llama;
  /** False: the processor only. */
  readonly gpu: GpuKind | false;
  readonly threads: number;
  /** llama.cpp's own error lines since this was last emptied, oldest first. */
  readonly errors: string[];
}

/**
 * Loads the library for such devices.
 * @param onLog gets llama.cpp's own log, one line at a time
 * Throws ChildFailure where it is not installed, or cannot run on such devices here.
 */
export async function startRuntime(
  gpu: GpuKind | false,
  threads: number | null,
  onLog: (line: string) => void,
): Promise<Runtime> {
  const library = await importLibrary();
  const errors: string[] = [];
  // Spinning threads of several children would stop each other: half of the cores, unless told otherwise.
  const maxThreads = threads ?? Math.max(1, Math.floor(availableParallelism() / 2));
  const logger = (level: string, message: string): void => {
    for (const line of message.split('\n').filter((text) => text.trim() !== '')) {
      if (level === 'error' || level === 'fatal') errors.push(line.trim());
      onLog(line);
    }
  };
  // Nothing is compiled or fetched: what is not installed is not there.
  const fixed = { build: 'never', skipDownload: true, progressLogs: false } as const;
  try {
    const llama = await library.getLlama({ ...fixed, gpu, logLevel: library.LlamaLogLevel.warn, logger, maxThreads });
    return { library, llama, gpu, threads: maxThreads, errors };
  } catch (error) {
    const what = gpu === false ? 'on the processor' : `with ${gpu}`;
    const why =
      error instanceof library.NoBinaryFoundError ? 'it has no binary for that on this machine.' : String(error);
    throw new ChildFailure('crashed', `node-llama-cpp cannot run ${what} here: ${why}`);
  }
}

async function importLibrary(): Promise<Library> {
  try {
    return await import('node-llama-cpp');
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    throw new ChildFailure(
      'crashed',
      missing
        ? 'The optional package node-llama-cpp is not installed; install it, or use --engine llama-server.'
        : `The package node-llama-cpp could not be loaded: ${String(error)}`,
    );
  }
}
