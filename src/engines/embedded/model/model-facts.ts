import type { ActiveModel } from '../service.js';

/** What is known of a model without it being in memory; llama-server's names. */
export interface ModelFacts {
  readonly meta: {
    readonly n_vocab: number;
    /** What one request can use, in tokens. */
    readonly n_ctx: number;
    readonly n_ctx_train: number;
    readonly n_embd: number;
    /** Parameters; null where the file does not say. */
    readonly n_params: number | null;
    /** Bytes. */
    readonly size: number;
  };
  readonly slots: number;
  readonly chatTemplate: string | null;
  readonly beginToken: string | null;
  readonly endToken: string | null;
}

export function readModelFacts({ loaded, template }: ActiveModel): ModelFacts {
  const { model, plan, contextTokens } = loaded;
  return {
    meta: {
      n_vocab: model.fileInfo.metadata.tokenizer.ggml.tokens.length,
      n_ctx: contextTokens,
      n_ctx_train: model.trainContextSize,
      n_embd: model.embeddingVectorSize,
      n_params: countParameters(model.fileInfo.fullTensorInfo ?? []),
      size: model.size,
    },
    slots: plan.sequences,
    chatTemplate: template.source,
    beginToken: model.tokens.bosString,
    endToken: model.tokens.eosString,
  };
}

function countParameters(tensors: readonly { readonly dimensions: readonly (number | bigint)[] }[]): number | null {
  if (tensors.length === 0) return null;
  return tensors.reduce(
    (sum, { dimensions }) => sum + dimensions.reduce<number>((product, size) => product * Number(size), 1),
    0,
  );
}
