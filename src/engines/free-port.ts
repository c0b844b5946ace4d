import { createServer } from 'node:net';

/** Ports handed out lately: the system may offer the same one again before its child has bound it. */
const recent: number[] = [];
const REMEMBERED = 64;
const TRIES = 16;

/**
 * A TCP port that is free on 127.0.0.1 now, chosen by the operating system. Somebody else may take it before
 * the child binds it; whoever starts a child has to be ready to try another.
 */
export async function freePort(): Promise<number> {
  let port = await askForPort();
  for (let attempt = 1; attempt < TRIES && recent.includes(port); attempt++) port = await askForPort();
  recent.push(port);
  if (recent.length > REMEMBERED) recent.shift();
  return port;
}

function askForPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (cause) => {
      reject(new Error(`No free port on 127.0.0.1: ${cause.message}.`, { cause }));
    });
    server.listen({ host: '127.0.0.1', port: 0, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('No free port on 127.0.0.1.'));
        else resolve(address.port);
      });
    });
  });
}
