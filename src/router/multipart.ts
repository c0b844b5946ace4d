export function isForm(contentType: string): boolean {
  return /^\s*multipart\/form-data\s*(?:;|$)/iu.test(contentType);
}

/** What separates the parts of a multipart form, from its content type; null where it does not say. */
export function boundaryOf(contentType: string): string | null {
  const found = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;]+))/iu.exec(contentType);
  return found?.[1] ?? found?.[2] ?? null;
}

const LINE = '\r\n';

/**
 * A text field of a multipart body, or null. Only the headers of parts are read: an uploaded file may contain anything,
 * also what looks like a field. The last field of a name counts.
 */
export function multipartField(body: Buffer, boundary: string, field: string): string | null {
  // A delimiter begins a line (RFC 2046, 5.1.1); before the first one there may be none.
  const delimiter = Buffer.from(`${LINE}--${boundary}`);
  const first = delimiter.subarray(LINE.length);
  let at = body.subarray(0, first.length).equals(first) ? first.length : afterDelimiter(body, delimiter, 0);
  let value: string | null = null;
  while (at !== null) {
    // Two dashes behind a delimiter end the form.
    if (body[at] === 0x2d && body[at + 1] === 0x2d) return value;
    const next = body.indexOf(delimiter, at);
    const end = next < 0 ? body.length : next;
    const headersEnd = body.indexOf('\r\n\r\n', at);
    if (headersEnd >= 0 && headersEnd < end) {
      const headers = body.subarray(at, headersEnd).toString('utf8');
      if (nameOf(headers) === field) value = body.subarray(headersEnd + 4, end).toString('utf8');
    }
    at = next < 0 ? null : next + delimiter.length;
  }
  return value;
}

function afterDelimiter(body: Buffer, delimiter: Buffer, from: number): number | null {
  const at = body.indexOf(delimiter, from);
  return at < 0 ? null : at + delimiter.length;
}

/** The name of a part that is a field; a part with a file name is none. */
function nameOf(headers: string): string | null {
  const disposition = /^content-disposition:\s*form-data\s*(;[^\r\n]*)/imu.exec(headers)?.[1] ?? '';
  if (/;\s*filename\*?=/iu.test(disposition)) return null;
  const name = /;\s*name=(?:"([^"]*)"|([^\s;]+))/iu.exec(disposition);
  return name?.[1] ?? name?.[2] ?? null;
}
