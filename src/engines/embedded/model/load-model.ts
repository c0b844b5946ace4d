import { setTimeout } from 'node:timers/promises';
import type { LlamaContext, LlamaEmbeddingContext, LlamaModel } from 'node-llama-cpp';
import type { ChildMemory } from '../../messages.js';
import type { ChildArguments } from '../arguments.js';
import { checkContextSize } from './context-check.js';
import { planContext, type ContextPlan } from './context-size.js';
import { selectDevices } from '../devices.js';
import type { Library, Runtime } from './library.js';
import { explainLoadError } from './load-error.js';

const LOG_DELAY_MILLIS = 50;

/** A model in memory, ready to generate or to embed. */
export interface LoadedModel {
  readonly library: Library;
  readonly model: LlamaModel;
  readonly plan: ContextPlan;
  /** What one request can use, in tokens. */
  readonly contextTokens: number;
  readonly work:
    | { readonly kind: 'generate'; readonly context: LlamaContext }
    | { readonly kind: 'embed'; readonly context: LlamaEmbeddingContext };
  /** Null when it cannot be told which device holds what. */
  readonly memory: ChildMemory | null;
}

/**
 * Loads the model that the arguments name.
 * @param onProgress gets the part that is loaded, 0 to 1
 * Throws ChildFailure with one sentence; aborts with the signal's reason.
 */
export async function loadModel(
  runtime: Runtime,
  args: ChildArguments,
  signal: AbortSignal,
  onProgress: (fraction: number) => void,
): Promise<LoadedModel> {
  runtime.errors.length = 0;
  try {
    return await loadWith(runtime, args, signal, onProgress);
  } catch (error) {
    if (signal.aborted) throw error;
    // The library hands over llama.cpp's log lines a little after the error that they explain.
    await setTimeout(LOG_DELAY_MILLIS);
    throw explainLoadError(args, error, runtime.errors);
  }
}

/** Gives back what model and context take. Nothing may be at work with them. */
export async function unloadModel({ model, work }: LoadedModel): Promise<void> {
  await work.context.dispose();
  await model.dispose();
}

async function loadWith(
  runtime: Runtime,
  args: ChildArguments,
  signal: AbortSignal,
  onLoadProgress: (fraction: number) => void,
): Promise<LoadedModel> {
  const { library, llama, gpu, threads } = runtime;
  const processBytes = process.memoryUsage.rss();
  const model = await llama.loadModel({
    modelPath: args.modelPath,
    ...(gpu === false ? { gpuLayers: 0 } : args.gpuLayers === null ? {} : { gpuLayers: args.gpuLayers }),
    useMmap: args.mmap,
    useMlock: args.mlock,
    loadSignal: signal,
    onLoadProgress,
  });
  const plan = planContext(args, model.trainContextSize);
  checkContextSize(model, plan, gpu === false);
  const batch = args.batchTokens === null ? {} : { batchSize: args.batchTokens };
  const shared = { contextSize: plan.tokensPerSequence, threads, createSignal: signal, ...batch };
  const work: LoadedModel['work'] = args.embeddings
    ? { kind: 'embed', context: await model.createEmbeddingContext(shared) }
    : {
        kind: 'generate',
        context: await model.createContext({ ...shared, sequences: plan.sequences, failedCreationRemedy: false }),
      };
  // Like llama-server, no request goes beyond what the model was trained for, however much was asked.
  const contextTokens = Math.min(plan.tokensPerSequence, model.trainContextSize);
  const memory = await describeMemory(runtime, model, work, args, contextTokens, processBytes);
  return { library, model, plan, contextTokens, work, memory };
}

/**
 * What model and context took, as llama.cpp counts it. The process itself is counted as the host's compute
 * buffer, because nothing else in the message has room for it.
 */
async function describeMemory(
  { llama }: Runtime,
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
