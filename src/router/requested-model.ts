import type { Query } from './exchange.js';
import { modelInJson } from './json-model.js';
import { boundaryOf, isForm, multipartField } from './multipart.js';
import { BodyError, invalidJson } from './request-body.js';

export interface Asked {
  readonly contentType: string;
  readonly query: Query;
  readonly body: Buffer;
}

/**
 * The model that a request names: in its JSON body, in a field of its form, or in its query where the body has no place
 * for it; null when it names none. Throws BodyError (400) on a body that is no JSON
 * and on a form without a boundary.
 */
export function requestedModel({ contentType, query, body }: Asked): string | null {
  const inQuery = query.get('model') === '' ? null : query.get('model');
  if (body.length === 0) return inQuery;
  if (isForm(contentType)) {
    const boundary = boundaryOf(contentType);
    if (boundary === null) throw noBoundary();
    return multipartField(body, boundary, 'model')?.trim() || inQuery;
  }
  const found = modelInJson(body);
  switch (found.kind) {
    case 'model':
      return found.model;
    case 'none':
      return inQuery;
    case 'other':
      // Some bodies are lists, as that of /lora-adapters.
      if (inQuery !== null) return inQuery;
      throw new BodyError({ status: 400, code: 'invalid_json', message: 'the body must be a JSON object' });
    case 'not-a-name':
      throw new BodyError({
        status: 400,
        code: 'invalid_model',
        message: '"model" must be the id of a model, as text',
      });
    case 'invalid':
      throw invalidJson(body);
  }
}

function noBoundary(): BodyError {
  const message =
    'the body cannot be read as a form: its content type names no boundary (multipart/form-data; boundary=…); ' +
    'let the HTTP library set it';
  return new BodyError({ status: 400, code: 'invalid_form', message });
}
