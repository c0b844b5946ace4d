import type { LlamaGrammar, Token } from 'node-llama-cpp';
import type { CallPlan } from '../tools/call-plan.js';
import type { ChoiceResult, GenerationRequest, Piece } from './generate.js';
import type { Generator } from './generator.js';
import type { Slot } from './sequence-pool.js';
import { createTextAssembler, type TextOptions } from './text-assembler.js';
import { streamTokens, type Tally } from './token-stream.js';

/** What writing one choice takes. */
export interface Work {
  readonly generator: Generator;
  readonly slot: Slot;
  readonly request: GenerationRequest;
  readonly choice: number;
  readonly tally: Tally;
  readonly signal: AbortSignal;
  readonly give: (piece: Pick<Piece, 'text' | 'calls' | 'token'>) => Promise<void>;
}

/** How the text of an answer ended. */
export type TextEnd =
  | ({ readonly kind: 'answer' } & Pick<ChoiceResult, 'stopType' | 'stoppingWord'>)
  /** It turns into calls, after this. */
  | { readonly kind: 'calls'; readonly plan: CallPlan; readonly prompt: readonly Token[] };

/** Writes text until it ends, or until the model begins to call a function. */
export async function writeText(
  { generator, slot, request, choice, tally, signal, give }: Work,
  grammar: LlamaGrammar | null,
): Promise<TextEnd> {
  const { model, contextTokens } = generator;
  const { prompt, sampling, stopTokens, calls } = request;
  const mostTokens = Math.min(sampling.maxTokens ?? Infinity, contextTokens - prompt.length);
  const assembler = createTextAssembler(model, prompt, textOptions(request));
  const tokens: Token[] = [];
  /** Characters up to each token; no number is as large as that of a token which ends within one. */
  const lengths: number[] = [];
  let written = '';
  const wanted = { prompt, sampling, choice, grammar, stopTokens, mostTokens };
  for await (const token of streamTokens(generator, slot, wanted, tally, signal)) {
    const text = assembler.push(token);
    tokens.push(token);
    lengths.push(assembler.length ?? Infinity);
    written += text;
    await give({ text, calls: [], token });
    if (assembler.stopped) break;
  }
  const { stopped, stoppingWord } = assembler;
  if (calls !== null && stoppingWord === calls.format.trigger) {
    // The trigger may begin within a token, whose beginning is text then.
    const kept = 1 + lengths.findLastIndex((length) => length <= written.length);
    const within = written.slice(lengths[kept - 1] ?? 0);
    const before = [
      ...tokens.slice(0, kept),
      ...(within === '' ? [] : model.tokenize(within, false, 'trimLeadingSpace')),
    ];
    return { kind: 'calls', plan: calls, prompt: [...prompt, ...before, ...calls.open] };
  }
  const rest = assembler.finish();
  if (rest !== '') await give({ text: rest, calls: [], token: null });
  return { kind: 'answer', stopType: stopped ? 'word' : tally.stopType, stoppingWord };
}

/** What the model begins a call with ends the text. It shows, even where it is a control token. */
function textOptions({ stopStrings, calls }: GenerationRequest): TextOptions {
  if (calls === null) return { stops: stopStrings };
  const { trigger, triggersAtStartOnly } = calls.format;
  const shows = (token: Token): boolean => calls.shown.has(token);
  if (triggersAtStartOnly) return { stops: stopStrings, stopsAtStart: [trigger], shows };
  return { stops: [...stopStrings, trigger], shows };
}
