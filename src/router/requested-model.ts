import type { IncomingMessage } from 'node:http';
import { parseJsonObject } from './request-body.js';

/** The `model` that a request names, or null when it names none. Throws BodyError on a body that is no JSON object. */
export function requestedModel(request: IncomingMessage, url: URL, body: Buffer): string | null {
  if (request.method === 'GET') return url.searchParams.get('model');
  const contentType = request.headers['content-type'] ?? '';
  const boundary = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^\s;]+))/iu.exec(contentType);
  if (boundary !== null) return multipartField(body, boundary[1] ?? boundary[2] ?? '', 'model');
  if (body.length === 0) return url.searchParams.get('model');
  const { model } = parseJsonObject(body);
  return typeof model === 'string' && model !== '' ? model : null;
}

/** A text field of a multipart body. Only its own part is looked at: an uploaded file may contain anything. */
export function multipartField(body: Buffer, boundary: string, field: string): string | null {
  const delimiter = Buffer.from(`--${boundary}`);
  for (let at = body.indexOf(delimiter); at >= 0;) {
    const start = at + delimiter.length;
    const next = body.indexOf(delimiter, start);
    const headersEnd = body.indexOf('\r\n\r\n', start);
    if (headersEnd < 0 || (next >= 0 && headersEnd > next)) return null;
    const headers = body.subarray(start, headersEnd).toString('latin1');
    const name = /^content-disposition:[^\r\n]*[;\s]name="([^"]*)"/imu.exec(headers)?.[1];
    if (name === field) {
      const end = next < 0 ? body.length : next - 2;
      return (
        body
          .subarray(headersEnd + 4, end)
          .toString('utf8')
          .trim() || null
      );
    }
    at = next;
  }
  return null;
}
