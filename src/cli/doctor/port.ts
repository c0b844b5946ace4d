import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { lockHolder } from '../../../native/flock.js';
import { nameOfProcess } from '../../devices/process-name.js';
import type { Paths } from '../../supervisor/paths.js';
import { NoAnswer } from '../first-snapshot.js';
import { runningSupervisor } from '../running-supervisor.js';
import type { Finding } from './finding.js';

/** Whether one can listen there, and else who does. */
export async function lookAtPort(host: string, port: number, paths: Paths): Promise<Finding> {
  const found = (level: Finding['level'], text: string, fix: string | null): Finding => {
    return { area: 'places', name: 'port', level, text, fix };
  };
  const running = await runningSupervisor(paths).catch((error: unknown) => (error instanceof NoAnswer ? error : null));
  if (running instanceof NoAnswer) return found('fail', ...silentSupervisor(paths));
  if (running !== null) {
    const { url, pid } = running.supervisor;
    return found('ok', `a supervisor serves this state directory already, at ${url} (pid ${pid})`, null);
  }
  const code = await tryListening(host, port);
  switch (code) {
    case null:
      return found('ok', `${host}:${port} is free`, null);
    case 'EADDRINUSE': {
      const holder = whoListens(port);
      const by = holder === null ? 'a program of another user' : `${holder.name || 'a program'} (pid ${holder.pid})`;
      return found('fail', `${host}:${port} is in use by ${by}`, 'choose another with --port; 0 picks a free one');
    }
    case 'EACCES':
      return found('fail', `${host}:${port} may not be used by this user`, 'choose one above 1023 with --port');
    default:
      return found('fail', `${host}:${port} cannot be listened on (${code})`, 'choose another --host or --port');
  }
}

/** One that has this state directory, and says nothing: another port would not help. What of it, and what to do. */
function silentSupervisor(paths: Paths): readonly [string, string] {
  const pid = lockHolder(paths.lockFile);
  const why = 'does not answer; its process may be stopped or overloaded';
  if (pid === null) return [`the supervisor of this state directory ${why}`, 'wait for it, or end its process'];
  return [
    `the supervisor of this state directory (pid ${pid}) ${why}`,
    `kill -CONT ${pid} lets it go on where it was stopped; kill -KILL ${pid} ends it`,
  ];
}

/** Null when it works, else the error's code. */
async function tryListening(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    server.close();
  }
}

const LISTENING = '0A';

/** The process that listens on a port, as far as this user may see (proc(5): net/tcp, PID/fd); null: not to be told. */
function whoListens(port: number): { readonly pid: number; readonly name: string } | null {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listeningInodes(table, port)));
  if (inodes.size === 0) return null;
  for (const entry of readdirSync('/proc')) {
    if (/^\d+$/u.test(entry) && holdsSocket(entry, inodes))
      return { pid: Number(entry), name: nameOfProcess(Number(entry)) };
  }
  return null;
}

function listeningInodes(table: string, port: number): readonly string[] {
  try {
    const rows = readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1);
    return rows.flatMap((row) => {
      const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/u);
      return state === LISTENING && parseInt(local.split(':')[1] ?? '', 16) === port ? [inode] : [];
    });
  } catch {
    return [];
  }
}

function holdsSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const inode = /^socket:\[(\d+)\]$/u.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    });
  } catch {
    return false;
  }
}
