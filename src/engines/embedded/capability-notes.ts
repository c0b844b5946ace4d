/** Something that llama-server has and this engine has not, or does otherwise. */
export interface CapabilityNote {
  /** What it is, as the beginning of a sentence. */
  readonly what: string;
  /** Why it is missing, or what happens instead; ends the sentence. */
  readonly instead: string;
  /** The names of options that ask for it: they have no effect, which the child's log says. */
  readonly options?: RegExp;
  /** Fields of a request that ask for it, and when they do: such a request is refused. */
  readonly fields?: Readonly<Record<string, (value: unknown) => boolean>>;
}

const given = (value: unknown): boolean => value !== undefined && value !== null;
const truthy = (value: unknown): boolean => Boolean(value);
const positive = (value: unknown): boolean => typeof value === 'number' && value > 0;
const not =
  (neutral: unknown) =>
  (value: unknown): boolean =>
    given(value) && value !== neutral;
const filled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : truthy(value);

/** Everything that the embedded engine cannot do. Refusals, notices in the child's log and the README come from it. */
export const CAPABILITY_NOTES: readonly CapabilityNote[] = [
  {
    what: 'Forms of function calls that the library cannot read from a chat template',
    instead: 'the model is told of functions in words, or writes all arguments in one place, and the log says so',
  },
  {
    what: 'Pictures and sound',
    instead: 'messages are text only, and projectors stay unused',
    options: /^(?:mmproj|image-)/u,
  },
  {
    what: 'Log probabilities',
    instead: 'the library tells probabilities only after temperature and filters, which is something else',
    fields: {
      logprobs: (value) => value === true || positive(value),
      top_logprobs: positive,
      n_probs: positive,
      post_sampling_probs: truthy,
    },
  },
  {
    what: 'Samplers besides top-k, top-p, min-p, XTC, DRY, temperature and the penalties',
    instead: 'the library has no others, and their order is fixed',
    options:
      /^(?:samplers|sampling-seq|mirostat|typical-p|top-n-sigma|dynatemp-|adaptive-|logit-bias$|backend-sampling)/u,
    fields: {
      samplers: filled,
      mirostat: positive,
      typical_p: not(1),
      top_n_sigma: positive,
      dynatemp_range: not(0),
      adaptive_target: (value) => typeof value === 'number' && value >= 0,
      min_keep: positive,
      backend_sampling: truthy,
    },
  },
  {
    what: 'Going on after the end of an answer',
    instead: 'an answer ends where the model ends it',
    options: /^ignore-eos$/u,
    fields: { ignore_eos: truthy },
  },
  { what: 'The DRY penalty', instead: 'it looks at the answer, not at the prompt' },
  {
    what: 'Grammars for every request of a child',
    instead: 'a request brings its own',
    options: /^(?:grammar|json-schema)/u,
    fields: { grammar_lazy: truthy, grammar_triggers: filled },
  },
  {
    what: 'JSON schemas with conditions, patterns that look around and the like',
    instead:
      'for answers, and for functions that are `strict`, the schema is refused and the keyword named (the arguments of others are held to the rest of it); `oneOf` means `anyOf`, and where properties are named no others are written',
  },
  {
    what: 'One pool of context for all sequences',
    instead: 'without `--parallel` one sequence has all of `--ctx-size`, and requests take turns',
    options: /^kv-unified/u,
  },
  {
    what: 'Going on when the context is full',
    instead: 'an answer ends there, with `finish_reason` length',
    options: /^(?:context-shift|keep)$/u,
  },
  {
    what: 'Fitting a model to free memory',
    instead: 'context and layers are taken as they are given',
    options: /^fit/u,
  },
  {
    what: 'LoRA adapters, control vectors and draft models',
    instead: 'a child has one model as it is',
    options: /^(?:lora|control-vector|model-draft|draft-|spec-|lookup-cache)|-draft$/u,
    fields: {
      lora: filled,
      'speculative.n_max': positive,
    },
  },
  {
    what: 'Details of how a model is laid out and computed',
    instead: 'the library chooses them',
    options:
      /^(?:flash-attn|cache-|ctx-checkpoints|swa-full|kv-offload|op-offload|repack|warmup|ubatch|split-mode|tensor-split|main-gpu|override-|.*moe|rpc|numa|rope-|yarn-|pooling|slot-save)/u,
  },
  {
    what: 'Thoughts apart from the answer',
    instead: 'what a reasoning model thinks stays in the text',
    options: /^reasoning/u,
    fields: {
      reasoning_format: (value) => given(value) && value !== 'none' && value !== 'auto',
      thinking_budget_tokens: (value) => typeof value === 'number' && value >= 0,
    },
  },
  {
    what: 'Infilling, reranking and shorter embeddings',
    instead: 'there are no routes and no `dimensions` for them',
    options: /^reranking$/u,
    fields: { suffix: filled, input_prefix: filled, input_suffix: filled, input_extra: filled, dimensions: given },
  },
  {
    what: 'The prompt within the answer, the best of several answers, and limits of time or indentation',
    instead: 'answers are returned as they come',
    fields: {
      echo: truthy,
      best_of: (value) => typeof value === 'number' && value > 1,
      n_indent: positive,
      t_max_predict_ms: positive,
      response_fields: filled,
      return_progress: truthy,
    },
  },
  {
    what: 'Built-in chat templates by name',
    instead: 'a Jinja template can be given',
    options: /^(?:chat-template-|prefill-assistant)/u,
  },
];

/** One sentence for an option that has no effect in this engine. */
export function sayOptionIgnored(name: string): string {
  const note = CAPABILITY_NOTES.find(({ options }) => options?.test(name));
  const why = note === undefined ? 'the embedded engine does not have it' : `${lower(note.what)}: ${note.instead}`;
  return `--${name} has no effect: ${why}.`;
}

/** One sentence about the first field of a request that asks for something this engine cannot do, else null. */
export function findUnsupportedField(body: object): string | null {
  for (const note of CAPABILITY_NOTES) {
    for (const [field, asks] of Object.entries(note.fields ?? {})) {
      if (asks((body as Readonly<Record<string, unknown>>)[field])) return sayRefused(`'${field}'`, note.instead);
    }
  }
  return null;
}

/** One sentence of a refusal: what was asked for, why not, and who can. */
export function sayRefused(asked: string, why: string): string {
  return `${asked}: the embedded engine cannot do this (${why.replaceAll('`', '')}); the llama-server engine can.`;
}

/** The notes as a list in Markdown, as the README has it. */
export function listNotes(): string {
  return CAPABILITY_NOTES.map(({ what, instead }) => `- ${what}: ${instead}.`).join('\n');
}

function lower(text: string): string {
  return /^(?:LoRA|JSON|The DRY)/u.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}
