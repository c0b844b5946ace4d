/* global document, fetch, Option, TextDecoderStream */
// What the pages of llama-server do: ask which models there are, and show an answer while it is being written.
const models = document.querySelector('#models');
const answer = document.querySelector('#answer');
const state = document.querySelector('#state');

const { data } = await (await fetch('./v1/models')).json();
models.append(...data.map(({ id }) => new Option(id)));
state.textContent = 'ready';

/** Resolves to what came: the pieces of the answer, and whether the page saw them one by one. */
globalThis.chat = async (model, text, tokens) => {
  models.value = model;
  answer.textContent = '';
  const reply = await fetch('./v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, max_tokens: tokens, messages: [{ role: 'user', content: text }] }),
  });
  if (!reply.ok) return { status: reply.status, error: await reply.json() };
  let [pending, pieces, reads, named] = ['', 0, 0, ''];
  for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
    reads += 1;
    const lines = (pending + chunk).split('\n');
    pending = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ') || line.includes('[DONE]')) continue;
      const event = JSON.parse(line.slice('data: '.length));
      named = event.model;
      const content = event.choices[0]?.delta?.content ?? '';
      if (content === '') continue;
      pieces += 1;
      answer.append(content);
    }
  }
  return { status: reply.status, model: named, pieces, reads, shown: answer.textContent.length };
};
