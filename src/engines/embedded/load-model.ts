import { availableParallelism, totalmem } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { Llama, LlamaContext, LlamaEmbeddingContext, LlamaModel } from 'node-llama-cpp';
import type { ChildMemory } from '../messages.js';
import type { ChildArguments } from './arguments.js';
import { contextTokensFor } from './context-size.js';
import { selectDevices, type GpuKind } from './devices.js';
import { ChildFailure } from './failure.js';
import { checkModelFile } from './model-file.js';
import { explainLoadError } from './load-error.js';

const LOG_DELAY_MILLIS = 50;

export type Library = typeof import('node-llama-cpp');

/** A model in memory, ready to generate or to embed. */
export interface LoadedModel {
  readonly library: Library;
  readonly model: LlamaModel;
  /** What one request can use, in tokens. */
  readonly contextTokens: number;
  readonly work:
    | { readonly kind: 'generate'; readonly context: LlamaContext }
    | { readonly kind: 'embed'; readonly context: LlamaEmbeddingContext };
  /** Null when it cannot be told which device holds what. */
  readonly memory: ChildMemory | null;
}

export interface LoadObserver {
  readonly onProgress: (fraction: number) => void;
  /** llama.cpp's own log, one line at a time. */
  readonly onLog: (line: string) => void;
}

/** Loads the model that the arguments name. Throws ChildFailure with one sentence; aborts with the signal's reason. */
export async function loadModel(
  args: ChildArguments,
  signal: AbortSignal,
  observer: LoadObserver,
): Promise<LoadedModel> {
  await checkModelFile(args.modelPath);
  const library = await importLibrary();
  const errors: string[] = [];
  const logger = (level: string, message: string): void => {
    for (const line of message.split('\n').filter((text) => text.trim() !== '')) {
      if (level === 'error' || level === 'fatal') errors.push(line.trim());
      observer.onLog(line);
    }
  };
  try {
    return await loadWith(library, args, signal, logger, observer.onProgress);
  } catch (error) {
    if (signal.aborted) throw error;
    // The library hands over llama.cpp's log lines a little after the error that they explain.
    await setTimeout(LOG_DELAY_MILLIS);
    throw explainLoadError(args, error, errors);
  }
}

async function loadWith(
  library: Library,
  args: ChildArguments,
  signal: AbortSignal,
  logger: (level: string, message: string) => void,
  onLoadProgress: (fraction: number) => void,
): Promise<LoadedModel> {
  // Spinning threads of several children would stop each other: half of the cores, unless told otherwise.
  const threads = args.threads ?? Math.max(1, Math.floor(availableParallelism() / 2));
  const { gpu } = selectDevices(args.devices);
  const llama = await startLibrary(library, gpu, threads, logger);
  const processBytes = process.memoryUsage.rss();
  const model = await llama.loadModel({
    modelPath: args.modelPath,
    ...(gpu === false ? { gpuLayers: 0 } : args.gpuLayers === null ? {} : { gpuLayers: args.gpuLayers }),
    useMmap: args.mmap,
    useMlock: args.mlock,
    loadSignal: signal,
    onLoadProgress,
  });
  const contextSize = contextTokensFor(args.contextTokens, model.trainContextSize);
  checkContext(model, contextSize * (args.embeddings ? 1 : args.parallel), gpu === false);
  const batch = args.batchTokens === null ? {} : { batchSize: args.batchTokens };
  const shared = { contextSize, threads, createSignal: signal, ...batch };
  const work = args.embeddings
    ? { kind: 'embed' as const, context: await model.createEmbeddingContext(shared) }
    : {
        kind: 'generate' as const,
        context: await model.createContext({ ...shared, sequences: args.parallel, failedCreationRemedy: false }),
      };
  const contextTokens = work.kind === 'generate' ? work.context.contextSize : contextSize;
  const memory = await describeMemory(llama, model, work, args, contextTokens, processBytes);
  return { library, model, contextTokens, work, memory };
}

/** Throws ChildFailure where the library cannot run on such devices here. */
export async function startLibrary(
  library: Library,
  gpu: GpuKind | false,
  maxThreads: number,
  logger: (level: string, message: string) => void,
): Promise<Llama> {
  const logLevel = library.LlamaLogLevel.warn;
  // Nothing is compiled or fetched: what is not installed is not there.
  const fixed = { build: 'never', skipDownload: true, progressLogs: false } as const;
  try {
    return await library.getLlama({ ...fixed, gpu, logLevel, logger, maxThreads });
  } catch (error) {
    const what = gpu === false ? 'on the processor' : `with ${gpu}`;
    const why =
      error instanceof library.NoBinaryFoundError ? 'it has no binary for that on this machine.' : String(error);
    throw new ChildFailure('crashed', `node-llama-cpp cannot run ${what} here: ${why}`);
  }
}

/**
 * What model and context took, as llama.cpp counts it. The process itself is counted as the host's compute
 * buffer, because nothing else in the message has room for it.
 */
async function describeMemory(
  llama: Llama,
  model: LlamaModel,
  work: LoadedModel['work'],
  args: ChildArguments,
  contextTokens: number,
  processBytes: number,
): Promise<ChildMemory | null> {
  const { devices } = selectDevices(args.devices);
  // The library tells the sum over all devices only.
  if (devices.length > 1) return null;
  const weights = model.memoryUsage;
  const cache = work.kind === 'generate' ? work.context.memoryUsage : { ram: 0, vram: 0 };
  const host = { kind: 'host', name: 'Host', model: weights.ram, context: cache.ram, compute: processBytes } as const;
  const [name] = devices;
  if (name === undefined) return { n_ctx: contextTokens, devices: [host] };
  const { total, free } = await llama.getVramState();
  const device = { kind: 'device', name, total, free, model: weights.vram, context: cache.vram, compute: 0 } as const;
  return { n_ctx: contextTokens, devices: [device, host] };
}

/** Throws ChildFailure where the optional package is not installed, or does not work. */
export async function importLibrary(): Promise<Library> {
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

/** Bookkeeping of llama.cpp for each token of context, besides what the token itself takes there. */
const CELL_BYTES = 64;

/**
 * The library finds out what a context needs by a trial that itself takes memory for each token, tens of gigabytes
 * for absurd sizes; those are refused before.
 */
function checkContext(model: LlamaModel, tokens: number, onHost: boolean): void {
  const need = tokens * (CELL_BYTES + (onHost ? cacheBytesPerToken(model) : 0));
  if (need <= totalmem()) return;
  throw new ChildFailure('out-of-memory', `A context of ${tokens} tokens in all is larger than system memory.`, {
    device: 'Host',
    askedBytes: Math.round(need),
  });
}

/** Keys and values at 16 bits; 0 where not every layer keeps every token, or the header does not tell. */
function cacheBytesPerToken({ fileInsights, fileInfo }: LlamaModel): number {
  const { attention, embedding_length: width, block_count: layers } = fileInfo.architectureMetadata;
  const heads = attention?.head_count;
  const cacheHeads = attention?.head_count_kv ?? heads;
  if (fileInsights.swaSize || fileInsights.isRecurrent) return 0;
  if (typeof heads !== 'number' || typeof cacheHeads !== 'number' || !width || !layers) return 0;
  const perHead = attention?.key_length ?? width / heads;
  return layers * cacheHeads * perHead * 2 * 2;
}
