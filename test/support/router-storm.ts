import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../src/simulation/random.js';
import { rawPost } from './raw-http.js';

export interface Storm {
  readonly url: string;
  readonly seed: number;
  readonly models: readonly string[];
  /** Clients that connect, send a part of a request, and leave. */
  readonly halves: number;
  /** Clients that send a whole one and leave at any time: while the model loads, in the queue, in the answer. */
  readonly aborts: number;
  /** How long the last of those stays. */
  readonly withinMillis: number;
}

/** Clients that leave. Resolves when the last one has left; the router then has to be as if they had never come. */
export async function storm({ url, seed, models, halves, aborts, withinMillis }: Storm): Promise<void> {
  const random = new Random(seed);
  const request = (): string => {
    const body = { model: random.pick(models), messages: [], max_tokens: 500, stream: random.chance(0.7) };
    return rawPost('/v1/chat/completions', JSON.stringify(body));
  };
  const half = async (): Promise<void> => {
    const whole = request();
    await sleep(random.between(0, withinMillis / 2));
    const socket = await open(url);
    socket.write(whole.slice(0, random.between(0, whole.length - 1)));
    await sleep(random.between(0, 50));
    socket.destroy();
  };
  const abort = async (): Promise<void> => {
    await sleep(random.between(0, withinMillis / 4));
    const socket = await open(url);
    socket.write(request());
    socket.resume();
    await sleep(random.between(0, withinMillis));
    socket.destroy();
  };
  await Promise.all([...Array.from({ length: halves }, half), ...Array.from({ length: aborts }, abort)]);
}

function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.off('error', reject).on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
