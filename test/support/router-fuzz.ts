import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Random } from '../../src/simulation/random.js';
import { randomRequest } from './random-requests.js';

/** What a run of random requests came to. */
export interface FuzzReport {
  /** Answers by status; 0: the connection was closed without one, or nothing came in time. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Answers of 500 and above that are no errors of the API, with their requests. */
  readonly faults: readonly string[];
  /** Resident bytes of the router after the first fifth, and at the end. */
  readonly rssBytes: readonly [before: number, after: number];
}

/** A request may be one that is never complete; nobody waits longer for its answer. */
const ANSWER_MILLIS = 400;
const AT_ONCE = 16;
/** What chance has blocked is opened again after so many requests, or the rest would only ever be refused. */
const UNBLOCKED_EVERY = 200;

/**
 * Sends random requests to a router of the models `small` and `other`, each on a connection of its own. The same seed
 * sends the same.
 */
export async function fuzzRouter(url: string, pid: number, seed: number, runs: number): Promise<FuzzReport> {
  const random = new Random(seed);
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  let sent = 0;
  let rssBefore = rssOf(pid);
  const sender = async (): Promise<void> => {
    while (sent < runs) {
      sent += 1;
      if (sent === Math.ceil(runs / 5)) rssBefore = rssOf(pid);
      if (sent % UNBLOCKED_EVERY === 0) await unblock(url);
      const request = randomRequest(random);
      const answer = await exchange(url, request);
      const status = Number(/^HTTP\/1\.1 (\d{3})/u.exec(answer)?.[1] ?? 0);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status >= 500 && !isApiError(answer, request)) {
        faults.push(`${request.subarray(0, 500).toString('latin1')}\n--> ${answer.slice(0, 500)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  await unblock(url);
  return { statuses, faults, rssBytes: [rssBefore, rssOf(pid)] };
}

async function unblock(url: string): Promise<void> {
  for (const model of ['small', 'other']) {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/supervisor/unblock`, { method: 'POST', headers, body: JSON.stringify({ model }) });
  }
}

/** Resident bytes of a process (Linux; 0 elsewhere). */
export function rssOf(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function isApiError(answer: string, request: Buffer): boolean {
  // An answer to HEAD has no body.
  if (request.subarray(0, 4).toString() === 'HEAD') return true;
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  return /^\{(?:"type":"error",)?"error":\{.*"message":".*"type":"|^\{"type":"error","error":\{"type":"/su.test(body);
}

function exchange(url: string, request: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(request));
    const timer = setTimeout(() => socket.destroy(), ANSWER_MILLIS);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const head = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/u, '');
      const end = head.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/iu.exec(head)?.[1] ?? 0);
      if (end >= 0 && head.length >= end + 4 + length) socket.destroy();
      text = head;
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}
