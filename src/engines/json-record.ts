export type JsonRecord = Readonly<Record<string, unknown>>;

/** True for what JSON calls an object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that a text stands for; null for any other text. */
export function parseRecord(text: string): JsonRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
