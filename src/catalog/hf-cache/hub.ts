import { z } from 'zod';
import type { Bytes } from '../../scheduler/units.js';
import { quote } from '../quote.js';
import { isRepoId } from './repo-files.js';

/** Where models are downloaded from, and as whom. */
export interface HubAccess {
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** Null: as nobody. Goes to the endpoint alone, and into no message. */
  readonly token: string | null;
}

/** A file of a repository as the hub describes it. */
export interface HubFile {
  readonly path: string;
  readonly sizeBytes: Bytes;
  /** What its content must hash to; names its blob in the cache. */
  readonly checksum: { readonly kind: 'sha256' | 'git'; readonly hex: string };
  readonly url: string;
}

export interface HubRepo {
  readonly repo: string;
  readonly commit: string;
  readonly files: readonly HubFile[];
}

/** Why nothing can be downloaded, in one sentence without any secret. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
  readonly status: number;

  /** @param status of the answer to whoever asked for the download */
  constructor(message: string, status = 502, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

const MOST_FILES = 10_000;
const COMMIT = /^[0-9a-f]{40}$/u;

/** The hub answers with more; paths come from whoever made the repository. */
const listedFile = z.object({
  path: z.string().max(1024),
  size: z.number().int().nonnegative(),
  oid: z.string().regex(/^[0-9a-f]{40}$/u),
  lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/u), size: z.number().int().nonnegative() }).optional(),
});

/**
 * From the variables that llama-server reads too: MODEL_ENDPOINT, else HF_ENDPOINT; HF_TOKEN. Throws an Error with one
 * sentence for an endpoint that is no address.
 */
export function hubAccess(environment: Readonly<Record<string, string | undefined>>): HubAccess {
  const variable = ['MODEL_ENDPOINT', 'HF_ENDPOINT'].find((name) => environment[name]);
  const endpoint = (variable === undefined ? undefined : environment[variable]) ?? 'https://huggingface.co';
  if (!/^https?:$/u.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new Error(`${variable ?? ''} takes an address like https://huggingface.co, not ${quote(endpoint)}.`);
  const token = environment['HF_TOKEN']?.trim() ?? '';
  // Anything else is no token of the hub, which would then refuse what anybody may have.
  return { endpoint: endpoint.replace(/\/+$/u, ''), token: /^hf_[A-Za-z0-9]+$/u.test(token) ? token : null };
}

/** Like `fetch`, with the token where it belongs, and nowhere else. */
export function hubFetch({ endpoint, token }: HubAccess, signal: AbortSignal): typeof fetch {
  return (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = new Headers(init?.headers);
    if (token !== null && URL.parse(url)?.origin === URL.parse(endpoint)?.origin) {
      headers.set('authorization', `Bearer ${token}`);
    }
    return fetch(url, { ...init, headers, signal });
  };
}

/** What a repository holds now. Throws DownloadError. */
export async function listRepo(repo: string, access: HubAccess, signal: AbortSignal): Promise<HubRepo> {
  if (!isRepoId(repo)) throw new DownloadError(`'${repo.slice(0, 256)}' is no repository; write OWNER/NAME:TAG`, 400);
  // Loaded here, since hardly any run downloads anything.
  const { listFiles, modelInfo } = await import('@huggingface/hub');
  const options = { hubUrl: access.endpoint, fetch: hubFetch(access, signal) };
  try {
    const { sha } = await modelInfo({ name: repo, additionalFields: ['sha'], ...options });
    if (typeof sha !== 'string' || !COMMIT.test(sha)) throw new Error('it names no commit');
    const files: HubFile[] = [];
    for await (const item of listFiles({ repo, revision: sha, recursive: true, ...options })) {
      const listed = item.type === 'file' ? listedFile.safeParse(item).data : undefined;
      if (listed === undefined || !staysInside(listed.path)) continue;
      const { path, lfs } = listed;
      const checksum = lfs ? { kind: 'sha256' as const, hex: lfs.oid } : { kind: 'git' as const, hex: listed.oid };
      const encoded = path.split('/').map(encodeURIComponent).join('/');
      const url = `${access.endpoint}/${repo}/resolve/${sha}/${encoded}`;
      files.push({ path, sizeBytes: lfs?.size ?? listed.size, checksum, url });
      if (files.length >= MOST_FILES) break;
    }
    return { repo, commit: sha, files };
  } catch (error) {
    if (signal.aborted) throw error;
    throw asDownloadError(error, repo, access);
  }
}

/** A path that cannot lead out of the snapshot that it is put into. */
function staysInside(path: string): boolean {
  const parts = path.split('/');
  return !path.includes('\\') && !path.includes('\0') && parts.every((part) => !['', '.', '..'].includes(part));
}

/** What went wrong between us and the hub, for people. */
export function asDownloadError(error: unknown, repo: string, { endpoint, token }: HubAccess): DownloadError {
  if (error instanceof DownloadError) return error;
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : null;
  return refusal(typeof status === 'number' ? status : null, repo, token) ?? unreachable(error, repo, endpoint);
}

/** A refusal of the hub by its status; null for one that says nothing special. */
export function refusal(status: number | null, repo: string, token: string | null): DownloadError | null {
  if (status === 404) return new DownloadError(`${repo} does not exist on the hub, or is private`, 404);
  if (status !== 401 && status !== 403) return null;
  const what = token === null ? 'set HF_TOKEN to a token that has access' : 'HF_TOKEN has no access to it';
  return new DownloadError(`${repo} may not be downloaded (${status}): ${what}`, status);
}

function unreachable(error: unknown, repo: string, endpoint: string): DownloadError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new DownloadError(`${repo} cannot be downloaded from ${endpoint}: ${why.slice(0, 300)}`, 502, {
    cause: error,
  });
}
