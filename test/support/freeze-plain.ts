/** Freezes a value with all that is in it, whatever it is. */
export function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freezeDeep(part);
}

/**
 * Freezes a value with all that is in it, so that changing it later throws, and makes sure that it is plain JSON data
 * that comes out of JSON as it went in. Parts that are frozen already were looked at before.
 */
export function freezePlain(value: unknown, path: string): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value) || Object.is(value, -0)) throw new TypeError(`${path} is ${value}: not plain JSON`);
      return;
    case 'object':
      break;
    default:
      throw new TypeError(`${path} is ${typeof value}: not plain JSON`);
  }
  if (value === null || Object.isFrozen(value)) return;
  if (Array.isArray(value)) {
    Object.freeze(value);
    for (let index = 0; index < value.length; index += 1) freezePlain(value[index], path);
    return;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError(`${path} is no plain object`);
  Object.freeze(value);
  for (const key in value) freezePlain((value as Record<string, unknown>)[key], path);
}
