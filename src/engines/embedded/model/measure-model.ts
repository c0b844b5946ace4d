import type { ChildMemory, MemoryRow } from '../../messages.js';
import type { ChildArguments } from '../arguments.js';
import { planContext } from './context-size.js';
import { selectDevices } from '../devices.js';
import { startRuntime, type Runtime } from './library.js';
import { explainLoadError } from './load-error.js';
import { checkModelFile } from './model-file.js';

/** What a model would take, and how much context it was trained for. */
export interface ModelNeed {
  readonly memory: ChildMemory;
  /** Null where the file does not say. */
  readonly trainedContextTokens: number | null;
}

/**
 * Asks llama.cpp what the model would need with these arguments, all layers on the devices unless they say otherwise;
 * weights and cache are only laid out, not allocated. There is one answer, not a smallest and a largest: a child of this
 * engine never chooses its context by what is free. Throws ChildFailure with one sentence.
 */
export async function measureModel(args: ChildArguments, onLog: (line: string) => void): Promise<ModelNeed> {
  await checkModelFile(args.modelPath);
  const runtime = await startRuntime(selectDevices(args.devices).gpu, 1, onLog);
  try {
    return await measureWith(runtime, args);
  } catch (error) {
    throw explainLoadError(args, error, runtime.errors);
  }
}

async function measureWith({ library, llama }: Runtime, args: ChildArguments): Promise<ModelNeed> {
  const processBytes = process.memoryUsage.rss();
  const { devices } = selectDevices(args.devices);
  const info = await library.readGgufFileInfo(args.modelPath, { sourceType: 'filesystem', logWarnings: false });
  const insights = await library.GgufInsights.from(info, llama);
  const trained = insights.trainContextSize ?? null;
  const { sequences, tokensPerSequence: contextSize } = planContext(args, trained);
  const all = insights.totalLayers;
  const gpuLayers = devices.length === 0 ? 0 : Math.min(args.gpuLayers ?? all, all);
  const weights = await insights.estimateModelResourceRequirementsV2({ gpuLayers, useMmap: args.mmap });
  const cache = await insights.estimateContextResourceRequirementsV2({
    contextSize,
    modelGpuLayers: gpuLayers,
    sequences,
    isEmbeddingContext: args.embeddings,
    useMmap: args.mmap,
    ...(args.batchTokens === null ? {} : { batchSize: args.batchTokens }),
  });
  // The library tells the sum over all devices only.
  const share = (bytes: number): number => Math.ceil(bytes / devices.length);
  const figures = devices.length === 1 ? await llama.getVramState() : null;
  const onDevices = devices.map((name): MemoryRow => {
    const state = figures === null ? {} : { total: figures.total, free: figures.free };
    const [model, context] = [share(weights.gpuVram), share(cache.gpuVram)];
    return { kind: 'device', name, ...state, model, context, compute: 0 };
  });
  // The process itself is counted as the host's compute buffer, as in what a loaded child says.
  const [model, context, compute] = [Math.ceil(weights.cpuRam), Math.ceil(cache.cpuRam), processBytes];
  const onHost: MemoryRow = { kind: 'host', name: 'Host', model, context, compute };
  return {
    memory: { n_ctx: Math.min(contextSize, trained ?? contextSize), devices: [...onDevices, onHost] },
    trainedContextTokens: trained,
  };
}
