import type { ServerResponse } from 'node:http';
import { withBeginToken } from '../generation/chat-template.js';
import { abortOnDisconnect, sendJson } from './http-io.js';
import { refuseTooLong } from './length-check.js';
import { textsOf } from './messages.js';
import { detokenizeSchema, parseBody, templateSchema, tokenizeSchema } from './request-schema.js';
import type { Service } from '../service.js';
import { readTools } from '../tools/tool-request.js';
import { checkTokens } from './token-check.js';

/** `POST /tokenize` */
export async function answerTokenize(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const request = parseBody(tokenizeSchema, body);
  refuseTooLong(service, [request.content]);
  await service.residency.use(abortOnDisconnect(response), ({ loaded: { model } }) => {
    const plain = model.tokenize(request.content, request.parse_special ?? true);
    const tokens = request.add_special === true ? withBeginToken(model, plain) : plain;
    const pieces = (): object[] => tokens.map((id) => ({ id, piece: model.detokenize([id], true) }));
    sendJson(response, 200, { tokens: request.with_pieces === true ? pieces() : tokens });
  });
}

/** `POST /detokenize` */
export async function answerDetokenize(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const { tokens } = parseBody(detokenizeSchema, body);
  await service.residency.use(abortOnDisconnect(response), ({ loaded: { model } }) => {
    sendJson(response, 200, { content: model.detokenize(checkTokens(model, tokens)) });
  });
}

/** `POST /apply-template` */
export async function answerTemplate(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const request = parseBody(templateSchema, body);
  const tools = readTools(request);
  refuseTooLong(service, textsOf(request.messages, tools?.shown));
  await service.residency.use(abortOnDisconnect(response), ({ template }) => {
    sendJson(response, 200, { prompt: template.render(request, tools?.shown ?? []).text });
  });
}
