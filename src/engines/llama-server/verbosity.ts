import type { ChildOption } from '../../catalog/entry.js';
import type { Launch } from '../engine.js';
import { TAKES_CONTEXT } from '../driver-context.js';
import { devicesUsed } from './device-options.js';
import type { FoundBinary } from './find-binary.js';

/** What an entry or an environment can say of the log. Any of it is the user's word. */
const LOG_OPTIONS: ReadonlySet<string> = new Set(['log-verbosity', 'log-verbose', 'log-disable']);
/** Devices whose memory the probes see, process by process. */
const PROBED = /^CUDA\d+$/;

/**
 * A child that logs its buffers tells what it holds on devices that no probe sees, such as remote ones. At the
 * verbosity that this takes it also logs some thirty lines a request, so it is asked for only there. And builds of 2026
 * list every device then, which takes a context on each: a child that leaves such devices alone is not asked.
 */
export function verbosityOptions(
  launch: Pick<Launch, 'entry' | 'devices'>,
  { bufferVerbosity, measureRole, devices: visible }: Pick<FoundBinary, 'bufferVerbosity' | 'measureRole' | 'devices'>,
  environment: Readonly<Record<string, string | undefined>>,
): readonly ChildOption[] {
  // Children that know the role tell what they hold in their `ready`.
  if (bufferVerbosity === undefined || measureRole === true || visible === undefined) return [];
  if (launch.entry.options.some(({ name }) => LOG_OPTIONS.has(name))) return [];
  if (environment['LLAMA_ARG_LOG_VERBOSITY'] !== undefined) return [];
  const remote = launch.entry.options.some(({ name }) => name === 'rpc');
  const used = devicesUsed(launch) ?? visible;
  const unseen = remote || used.some((name) => name !== 'none' && !PROBED.test(name));
  const spared = visible.some((name) => TAKES_CONTEXT.test(name) && !used.includes(name));
  return unseen && !spared ? [{ name: 'log-verbosity', value: String(bufferVerbosity) }] : [];
}
