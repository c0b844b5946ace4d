import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SourceWatch } from '../catalog/source-watch.js';
import type { CombinedProbe } from '../devices/combined-probe.js';
import { AccessLog } from '../router/access-log.js';
import { ApiKeys } from '../router/auth.js';
import { Router, type RouterOptions } from '../router/router.js';
import type { Paths } from '../supervisor/paths.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { returnWhatIsFreed } from './freed-memory.js';
import { isLoopback, listenAt, listenOnSocket } from './listen.js';
import { OwnerWatch } from './owner-watch.js';
import type { ServeFlags } from './serve-flags.js';

/** A supervisor that answers on its address and its socket. */
export interface Serving {
  readonly supervisor: Supervisor;
  readonly url: string;
  /** Resolves once everything has been stopped, for whatever reason. */
  readonly ended: Promise<void>;
  /** Stops every model and ends; a second call kills what has not left yet. */
  stop(): void;
}

const SLOW_DEVICES_MILLIS = 1_000;
const WAITING_FOR_DEVICES = 'llm-tui waits for the devices: a driver has not answered yet; requests wait too';

/**
 * Listens, then has the supervisor look at the devices and know its models.
 * @param unlock called once everything has been stopped
 */
export async function openServing(
  flags: ServeFlags,
  paths: Paths,
  supervisor: Supervisor,
  probes: CombinedProbe,
  page: Pick<RouterOptions, 'pageDirectory' | 'uiSettings'>,
  say: (line: string) => void,
  unlock: () => void,
): Promise<Serving> {
  let ending: Promise<void> | null = null;
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<undefined>();
  const watch = flags.watch ? new SourceWatch(flags, () => supervisor.catalogChanged()) : null;
  const stopTrimming = returnWhatIsFreed(supervisor);
  const stop = (): void => {
    watch?.close();
    if (ending !== null) {
      supervisor.killAll();
      return;
    }
    ending = supervisor.shutdown().then(() => {
      stopTrimming();
      router.close();
      probes.close();
      rmSync(paths.simulation, { recursive: true, force: true });
      unlock();
      resolveEnded(undefined);
    });
  };
  const owner = new OwnerWatch({ owned: flags.owned, onClose: flags.onClose, stop });
  const router = new Router({
    supervisor,
    ...page,
    prefix: flags.prefix,
    tls: flags.tls,
    keys: new ApiKeys(flags.apiKeys),
    cors: flags.cors,
    maxBodyBytes: flags.maxBodyBytes,
    autoload: flags.autoload,
    timeoutMillis: flags.timeoutMillis,
    log: logOf(flags, paths, supervisor),
    desk: { ownerConnected: () => owner.connected(), detach: () => owner.detach(), shutdown: stop },
  });
  try {
    const network = router.server(false);
    await listenAt(network, flags);
    const { port, address } = network.address() as AddressInfo;
    await listenOnSocket(router.server(true), paths.socket);
    const scheme = flags.tls === null ? 'http' : 'https';
    const host = address.includes(':') ? `[${address}]` : address;
    supervisor.listensAt(`${scheme}://${host}:${port}${flags.prefix}`, address);
  } catch (error) {
    router.close();
    probes.close();
    throw error;
  }
  if (!isLoopback(flags.host) && flags.apiKeys.length === 0) {
    supervisor.notice(`Everybody who reaches ${flags.host} may use and unload models: there is no --api-key.`);
  }
  const slow = setTimeout(() => say(WAITING_FOR_DEVICES), SLOW_DEVICES_MILLIS);
  await supervisor.start().finally(() => clearTimeout(slow));
  supervisor.notice(...probes.notes());
  owner.start();
  supervisor.notice(...(watch?.start() ?? []));
  return { supervisor, url: supervisor.info.url, ended, stop };
}

function logOf({ logRequests }: ServeFlags, paths: Paths, supervisor: Supervisor): AccessLog | null {
  if (logRequests === null) return null;
  const path = logRequests === '' ? join(paths.stateDirectory, 'requests.jsonl') : logRequests;
  return new AccessLog(path, (notice) => supervisor.notice(notice));
}
