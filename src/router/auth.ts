import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Checks API keys. Only digests are kept and compared, in constant time, whatever their lengths. */
export class ApiKeys {
  readonly #digests: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest);
  }

  get required(): boolean {
    return this.#digests.length > 0;
  }

  /** True when no key is needed, or the request has one, as `Authorization: Bearer …` or `x-api-key`. */
  allows(request: IncomingMessage): boolean {
    if (!this.required) return true;
    const { authorization, 'x-api-key': other } = request.headers;
    // llama-server takes the key without "Bearer" as well.
    const bearer = authorization?.replace(/^Bearer\s+/iu, '');
    let allowed = false;
    for (const key of [bearer, typeof other === 'string' ? other : undefined]) {
      if (key === undefined || key === '') continue;
      const given = digest(key);
      // Every key is compared, so that time tells nothing about which one was near.
      for (const known of this.#digests) allowed = timingSafeEqual(given, known) || allowed;
    }
    return allowed;
  }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key.trim()).digest();
}
