import type { Service } from '../service.js';

/** `GET /v1/models` */
export function describeModels({ args, facts, startedAt }: Service): object {
  const entry = { id: args.alias, object: 'model', created: startedAt, owned_by: 'llm-tui' };
  return { object: 'list', data: [{ ...entry, meta: facts.meta }] };
}

/** `GET /props` */
export function describeProps({ args, facts, residency }: Service): object {
  const { defaults } = args;
  return {
    default_generation_settings: {
      n_ctx: facts.meta.n_ctx,
      params: {
        temperature: defaults.temperature,
        top_k: defaults.topK,
        top_p: defaults.topP,
        min_p: defaults.minP,
        seed: defaults.seed ?? -1,
        n_predict: defaults.maxTokens ?? -1,
        repeat_last_n: defaults.repeatLastTokens,
        repeat_penalty: defaults.repeatPenalty,
        presence_penalty: defaults.presencePenalty,
        frequency_penalty: defaults.frequencyPenalty,
        xtc_probability: defaults.xtcProbability,
        xtc_threshold: defaults.xtcThreshold,
        dry_multiplier: defaults.dryMultiplier,
        dry_base: defaults.dryBase,
        dry_allowed_length: defaults.dryAllowedLength,
        dry_penalty_last_n: defaults.dryLastTokens,
      },
    },
    total_slots: facts.slots,
    model_alias: args.alias,
    model_path: args.modelPath,
    chat_template: facts.chatTemplate ?? '',
    bos_token: facts.beginToken ?? '',
    eos_token: facts.endToken ?? '',
    modalities: { vision: false, audio: false },
    is_sleeping: residency.current === null,
    engine: 'embedded',
  };
}

/** `GET /slots`; while the model sleeps they are all idle. */
export function describeSlots({ facts, residency }: Service): object {
  const slots = residency.current?.generator?.pool.slots;
  return Array.from({ length: facts.slots }, (_, id) => {
    const task = slots?.[id]?.task ?? null;
    return {
      id,
      n_ctx: facts.meta.n_ctx,
      speculative: false,
      is_processing: task !== null,
      ...(task !== null && {
        id_task: task.id,
        n_prompt_tokens: task.promptTokens,
        n_prompt_tokens_processed: task.evaluatedTokens,
        n_prompt_tokens_cache: task.cachedTokens,
      }),
      n_decoded: task?.generatedTokens ?? 0,
      next_token: [{ has_next_token: task !== null, n_decoded: task?.generatedTokens ?? 0 }],
    };
  });
}

/** `GET /metrics`, with llama-server's names, in Prometheus' text format. */
export function describeMetrics({ counters, residency }: Service): string {
  const pool = residency.current?.generator?.pool;
  const busy = pool?.slots.filter(({ task }) => task !== null).length ?? 0;
  const { promptTokens, promptMillis, generatedTokens, generationMillis } = counters;
  const metrics: readonly (readonly [string, 'counter' | 'gauge', string, number])[] = [
    ['requests_total', 'counter', 'Answers given in full.', counters.requests],
    ['prompt_tokens_total', 'counter', 'Prompt tokens evaluated.', promptTokens],
    ['prompt_seconds_total', 'counter', 'Time spent on prompts.', promptMillis / 1000],
    ['tokens_predicted_total', 'counter', 'Tokens generated.', generatedTokens],
    ['tokens_predicted_seconds_total', 'counter', 'Time spent generating.', generationMillis / 1000],
    ['n_tokens_max', 'counter', 'Most tokens of context that a request has used.', counters.mostContextTokens],
    ['prompt_tokens_seconds', 'gauge', 'Prompt tokens a second, on average.', perSecond(promptTokens, promptMillis)],
    [
      'predicted_tokens_seconds',
      'gauge',
      'Tokens generated a second, on average.',
      perSecond(generatedTokens, generationMillis),
    ],
    ['requests_processing', 'gauge', 'Requests being worked on.', busy],
    ['requests_deferred', 'gauge', 'Requests waiting for a sequence.', pool?.waiting ?? 0],
  ];
  const lines = metrics.flatMap(([name, type, help, value]) => {
    return [`# HELP llamacpp:${name} ${help}`, `# TYPE llamacpp:${name} ${type}`, `llamacpp:${name} ${value}`];
  });
  return `${lines.join('\n')}\n`;
}

function perSecond(tokens: number, millis: number): number {
  return millis > 0 ? (tokens * 1000) / millis : 0;
}
