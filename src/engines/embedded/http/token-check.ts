import type { LlamaModel, Token } from 'node-llama-cpp';
import { HttpError } from './http-error.js';

/** A number that is no token of the model would crash llama.cpp. Throws HttpError 400. */
export function checkTokens(model: LlamaModel, tokens: readonly number[]): Token[] {
  const { length } = model.fileInfo.metadata.tokenizer.ggml.tokens;
  const bad = tokens.find((token) => token >= length);
  if (bad !== undefined) throw new HttpError(400, `${bad} is not a token: the model has ${length} of them.`);
  return tokens as Token[];
}
