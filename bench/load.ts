import { connect, type Socket } from 'node:net';

/** What a run of requests took. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Millis: number;
  readonly p99Millis: number;
}

export interface Load {
  readonly port: number;
  readonly path: string;
  readonly body: Buffer;
  readonly connections: number;
  readonly millis: number;
  /** Ends a run before its time. */
  readonly requests?: number;
}

/** Keeps so many connections busy, one request at a time on each. Throws on any answer but a 200. */
export async function load(options: Load): Promise<LoadResult> {
  const { port, path, body, connections, millis, requests = Infinity } = options;
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  const took: number[] = [];
  const began = performance.now();
  const wanted = (): boolean => performance.now() - began < millis && took.length < requests;
  await Promise.all(Array.from({ length: connections }, () => keepBusy(port, request, wanted, took)));
  const seconds = (performance.now() - began) / 1000;
  took.sort((a, b) => a - b);
  return {
    requests: took.length,
    perSecond: took.length / seconds,
    p50Millis: quantile(took, 0.5),
    p99Millis: quantile(took, 0.99),
  };
}

export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function keepBusy(port: number, request: Buffer, wanted: () => boolean, took: number[]): Promise<void> {
  let socket = await open(port);
  while (wanted()) {
    const since = performance.now();
    const closes = await roundTrip(socket, request);
    took.push(performance.now() - since);
    if (!closes) continue;
    socket.destroy();
    socket = await open(port);
  }
  socket.destroy();
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** One request and its whole answer; true when the server closes the connection after it. */
function roundTrip(socket: Socket, request: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let text = '';
    let end = -1;
    let missing = 0;
    let closes = false;
    const settle = (error: Error | null): void => {
      socket.off('data', take).off('close', lost);
      if (error === null) resolve(closes);
      else reject(error);
    };
    const lost = (): void => settle(new Error(`the connection broke off in an answer: ${text.slice(0, 200)}`));
    const take = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      if (end < 0) {
        end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = text.slice(0, end);
        if (!head.startsWith('HTTP/1.1 200')) return settle(new Error(text.slice(0, 400)));
        closes = /\r\nconnection: *close/iu.test(head);
        const length = /\r\ncontent-length: *(\d+)/iu.exec(head)?.[1];
        missing = length === undefined ? -1 : end + 4 + Number(length);
      }
      if (missing >= 0 ? text.length >= missing : text.endsWith('0\r\n\r\n')) settle(null);
    };
    socket.on('data', take).on('close', lost);
    socket.write(request);
  });
}

/** Delays of single events of streams, from the child's write to here, in milliseconds, ascending. */
export async function streamDelays(port: number, path: string, body: Buffer, streams: number): Promise<number[]> {
  const delays: number[] = [];
  await Promise.all(Array.from({ length: streams }, () => readStream(port, path, body, delays)));
  return delays.sort((a, b) => a - b);
}

async function readStream(port: number, path: string, body: Buffer, delays: number[]): Promise<void> {
  const socket = await open(port);
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(Buffer.concat([Buffer.from(head), body]));
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      const now = process.hrtime.bigint() / 1000n;
      const text = chunk.toString('latin1');
      for (const [, at] of text.matchAll(/"at":"(\d+)"/gu)) delays.push(Number(now - BigInt(at ?? 0)) / 1000);
      if (text.includes('[DONE]')) resolve();
    });
    socket.once('close', () => reject(new Error('a stream broke off')));
  });
  socket.destroy();
}
