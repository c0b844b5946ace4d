import { randomInt } from 'node:crypto';
import type { SamplingDefaults } from './arguments.js';
import { HttpError } from './http-error.js';
import type { GenerationFields } from './request-schema.js';

/** How the next token is chosen, and when to stop. */
export interface Sampling {
  readonly options: {
    readonly temperature: number;
    readonly topK: number;
    readonly topP: number;
    readonly minP: number;
    readonly seed: number;
  };
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
  /** Whether what an earlier request left in the sequence may be used again. */
  readonly cachePrompt: boolean;
}

/** What a request says of sampling, over the child's defaults. Throws HttpError 400 for what this engine lacks. */
export function readSampling(request: GenerationFields, defaults: SamplingDefaults): Sampling {
  refuseUnsupported(request);
  const asked = request.max_completion_tokens ?? request.max_tokens ?? request.n_predict ?? null;
  const seed = request.seed ?? defaults.seed;
  return {
    options: {
      temperature: request.temperature ?? defaults.temperature,
      topK: request.top_k ?? defaults.topK,
      topP: request.top_p ?? defaults.topP,
      minP: request.min_p ?? defaults.minP,
      // A request without one must not repeat another that came in the same moment.
      seed: seed === null || seed < 0 ? randomInt(0xffff_ffff) : seed % 0x1_0000_0000,
    },
    maxTokens: asked === null ? defaults.maxTokens : asked < 0 ? null : asked,
    stop: (typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])).filter((text) => text !== ''),
    cachePrompt: request.cache_prompt ?? true,
  };
}

function refuseUnsupported(request: GenerationFields): void {
  const refuse = (what: string): HttpError => {
    return new HttpError(400, `${what}: the embedded engine does not have it; use the llama-server engine for it.`);
  };
  if ((request.n ?? 1) !== 1) throw refuse(`'n' is ${request.n}, more than one choice`);
  if ((request.tools ?? []).length > 0) throw refuse("'tools', calling functions");
  const format = request.response_format?.type ?? 'text';
  if (format !== 'text') throw refuse(`'response_format' ${format}`);
  if (request.logit_bias != null && Object.keys(request.logit_bias).length > 0) throw refuse("'logit_bias'");
}
