/** A whole source of models cannot be read. The message is one sentence: what, where, what to do. */
export class CatalogSourceError extends Error {
  override readonly name = 'CatalogSourceError';
  /** The file or directory that was to be read. */
  readonly path: string;

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

/** What the operating system said, in words for a sentence, e.g. `permission denied`. */
export function describeSystemError(error: unknown): string {
  const code = systemErrorCode(error);
  switch (code) {
    case 'ENOENT':
      return 'it does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'ENOTDIR':
      return 'it is not a directory';
    case 'EISDIR':
      return 'it is a directory';
    case 'ELOOP':
      return 'its links form a circle';
    default:
      return code ?? (error instanceof Error ? error.message : String(error));
  }
}

/** `ENOENT` and the like, or null when the error is not the operating system's. */
export function systemErrorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
