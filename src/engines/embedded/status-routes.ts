import type { Service } from './service.js';

/** What is known of the model itself, for `/v1/models` and the `ready` message. */
export function describeModelMeta({ loaded: { model, contextTokens } }: Service): object {
  return {
    n_vocab: model.fileInfo.metadata.tokenizer.ggml.tokens.length,
    n_ctx: contextTokens,
    n_ctx_train: model.trainContextSize,
    n_embd: model.embeddingVectorSize,
    size: model.size,
  };
}

/** `GET /v1/models` */
export function describeModels(service: Service): object {
  const { args, startedAt } = service;
  const entry = { id: args.alias, object: 'model', created: startedAt, owned_by: 'llm-tui' };
  return { object: 'list', data: [{ ...entry, meta: describeModelMeta(service) }] };
}

/** `GET /props` */
export function describeProps({ args, template, loaded }: Service): object {
  return {
    default_generation_settings: {
      n_ctx: loaded.contextTokens,
      params: {
        temperature: args.defaults.temperature,
        top_k: args.defaults.topK,
        top_p: args.defaults.topP,
        min_p: args.defaults.minP,
        seed: args.defaults.seed ?? -1,
        n_predict: args.defaults.maxTokens ?? -1,
      },
    },
    total_slots: loaded.work.kind === 'generate' ? args.parallel : 1,
    model_alias: args.alias,
    model_path: args.modelPath,
    chat_template: template.source,
    modalities: { vision: false, audio: false },
    engine: 'embedded',
  };
}

/** `GET /slots` */
export function describeSlots({ generator }: Service): object {
  return (generator?.pool.slots ?? []).map(({ id, task }) => ({
    id,
    n_ctx: generator?.contextTokens,
    is_processing: task !== null,
    n_prompt_tokens: task?.promptTokens ?? 0,
    n_decoded: task?.generatedTokens ?? 0,
  }));
}

/** `GET /metrics`, with llama-server's names, in Prometheus' text format. */
export function describeMetrics({ counters, generator }: Service): string {
  const busy = generator?.pool.slots.filter(({ task }) => task !== null).length ?? 0;
  const metrics: readonly (readonly [string, 'counter' | 'gauge', string, number])[] = [
    ['requests_total', 'counter', 'Answers given in full.', counters.requests],
    ['prompt_tokens_total', 'counter', 'Prompt tokens evaluated.', counters.promptTokens],
    ['prompt_seconds_total', 'counter', 'Time spent on prompts.', counters.promptMillis / 1000],
    ['tokens_predicted_total', 'counter', 'Tokens generated.', counters.generatedTokens],
    ['tokens_predicted_seconds_total', 'counter', 'Time spent generating.', counters.generationMillis / 1000],
    ['requests_processing', 'gauge', 'Requests being worked on.', busy],
    ['requests_deferred', 'gauge', 'Requests waiting for a sequence.', generator?.pool.waiting ?? 0],
  ];
  const lines = metrics.flatMap(([name, type, help, value]) => {
    return [`# HELP llamacpp:${name} ${help}`, `# TYPE llamacpp:${name} ${type}`, `llamacpp:${name} ${value}`];
  });
  return `${lines.join('\n')}\n`;
}
