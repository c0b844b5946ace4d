const FILLER =
  'Nothing here was computed and no weights were read but every token took its time and every byte was accounted for ';

/** The words of a simulated answer, one per token, of which together they are `count`. It says what it is. */
export function simulatedTokens(model: string, prompt: string, count: number): readonly string[] {
  const shown = prompt.length > 200 ? `${prompt.slice(0, 200)}…` : prompt;
  const opening = `This answer is simulated: ${model} is not a real model. You wrote: “${shown}”. `;
  const words = opening.match(/\S+\s*/g) ?? [];
  const filler = FILLER.match(/\S+\s*/g) ?? [];
  return Array.from({ length: count }, (_, index) => {
    return words[index] ?? filler[(index - words.length) % filler.length] ?? '';
  });
}

/** Tokens of a text, as the simulation counts them. */
export function countTokens(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}

/** The text of the last message of a chat, whether it is a string or a list of parts; else of `prompt` or `input`. */
export function readPrompt(body: Readonly<Record<string, unknown>>): string {
  const messages: unknown = body['messages'];
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const content = isObject(last) ? last['content'] : (body['prompt'] ?? body['input'] ?? body['content']);
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) =>
      typeof part === 'string' ? part : isObject(part) && typeof part['text'] === 'string' ? part['text'] : '',
    )
    .join(' ');
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
