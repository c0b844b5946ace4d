import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../router/router.js';
import { UsageError } from './usage-error.js';

/**
 * Reads what TLS is spoken with (`--ssl-key-file`, `--ssl-cert-file`: PEM); null where neither is given. Throws
 * UsageError with one sentence where one is missing, cannot be read, or does not belong to the other.
 */
export function readTlsFiles(keyFile: string | null, certFile: string | null): TlsFiles | null {
  if (keyFile === null && certFile === null) return null;
  if (keyFile === null || certFile === null) {
    throw new UsageError(
      `--ssl-${keyFile === null ? 'key' : 'cert'}-file is missing: TLS needs a key and a certificate.`,
    );
  }
  const files = { key: read('--ssl-key-file', keyFile), cert: read('--ssl-cert-file', certFile) };
  try {
    createSecureContext(files);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`TLS cannot be spoken with ${keyFile} and ${certFile} (${why}).`, { cause });
  }
  return files;
}

function read(flag: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${flag} ${path} cannot be read (${why}).`, { cause });
  }
}
