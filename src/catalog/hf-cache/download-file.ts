import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bytes, Millis } from '../../scheduler/units.js';
import { DownloadError, hubFetch, refusal, type HubAccess, type HubFile } from './hub.js';

export interface FileDownload {
  readonly repo: string;
  readonly file: HubFile;
  /** Where it ends up; until it is whole it lies beside it, and a later download goes on from there. */
  readonly path: string;
  readonly access: HubAccess;
  readonly signal: AbortSignal;
  readonly onProgress: (downloadedBytes: Bytes) => void;
  /** Before the second try; each later one waits twice as long. For tests. */
  readonly firstDelayMillis?: Millis;
}

const UNFINISHED = '.incomplete';
/** Tries in a row that bring nothing before it is given up; one that brings something begins the count anew. */
const MOST_BARREN_TRIES = 4;
const FIRST_DELAY_MILLIS: Millis = 1000;

/**
 * Downloads one file, going on after a broken connection from where it broke, and checks size and checksum before it
 * counts. Throws DownloadError; what was loaded so far is kept, unless it is wrong.
 */
export async function downloadFile(download: FileDownload): Promise<void> {
  const { file, path, signal, onProgress, firstDelayMillis = FIRST_DELAY_MILLIS } = download;
  const part = path + UNFINISHED;
  await mkdir(dirname(path), { recursive: true });
  let barren = 0;
  for (;;) {
    let before = await sizeOf(part);
    if (before > file.sizeBytes) {
      await rm(part);
      before = 0;
    }
    if (before === file.sizeBytes) break;
    const failure = await fetchRest(download, part, before).then(
      () => null,
      (error: unknown) => error,
    );
    signal.throwIfAborted();
    const after = await sizeOf(part);
    if (after === file.sizeBytes) break;
    if (failure instanceof DownloadError) {
      if (failure instanceof WrongLength) await rm(part, { force: true });
      throw failure;
    }
    barren = after > before ? 0 : barren + 1;
    if (barren >= MOST_BARREN_TRIES) throw gaveUp(file, after, failure);
    await sleep(firstDelayMillis * 2 ** barren, undefined, { signal });
  }
  onProgress(file.sizeBytes);
  const found = await checksumOf(part, file);
  if (found !== file.checksum.hex) {
    await rm(part, { force: true });
    throw new DownloadError(
      `${file.path} has been downloaded with the wrong content (${file.checksum.kind} checksum ${found.slice(0, 12)}… instead of ${file.checksum.hex.slice(0, 12)}…) and was deleted; download it again`,
    );
  }
  await rename(part, path);
}

/** Gets what is missing, or everything anew from a server that cannot go on in the middle. */
async function fetchRest(
  { repo, file, access, signal, onProgress }: FileDownload,
  part: string,
  from: Bytes,
): Promise<void> {
  const response = await hubFetch(access, signal)(file.url, from > 0 ? { headers: { range: `bytes=${from}-` } } : {});
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    const { status } = response;
    if (status >= 500 || status === 408 || status === 416 || status === 429) throw new Error(`it answers ${status}`);
    throw (
      refusal(status, repo, access.token) ?? new DownloadError(`${file.path} cannot be downloaded: status ${status}`)
    );
  }
  const goesOn =
    response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${from}-`) === true;
  const output = await open(part, goesOn ? 'a' : 'w');
  let size = goesOn ? from : 0;
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > file.sizeBytes) throw tooLong(file);
      await output.write(chunk);
      onProgress(size);
    }
  } finally {
    await output.close();
  }
  if (size < file.sizeBytes) throw new Error(`it ends at ${size} bytes`);
}

/** What has come cannot be the file, so that nothing can go on from it. */
class WrongLength extends DownloadError {}

function tooLong(file: HubFile): WrongLength {
  return new WrongLength(`${file.path} is sent with more than the ${file.sizeBytes} bytes that the hub lists for it`);
}

function gaveUp(file: HubFile, has: Bytes, failure: unknown): DownloadError {
  const cause = failure instanceof Error && failure.cause instanceof Error ? failure.cause : failure;
  const why = cause instanceof Error ? cause.message : 'the connection breaks';
  return new DownloadError(
    `${file.path} stopped at ${has} of ${file.sizeBytes} bytes: ${why}; the next download goes on from there`,
    502,
    { cause: failure },
  );
}

async function sizeOf(path: string): Promise<Bytes> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Git hashes a header with the length before the content. */
async function checksumOf(path: string, { sizeBytes, checksum }: HubFile): Promise<string> {
  const hash = createHash(checksum.kind === 'git' ? 'sha1' : 'sha256');
  if (checksum.kind === 'git') hash.update(`blob ${sizeBytes}\0`);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
