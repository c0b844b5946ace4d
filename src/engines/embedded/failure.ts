import type { ExitClass } from '../../scheduler/state.js';
import type { Bytes, DeviceName } from '../../scheduler/units.js';

/** Why a child cannot serve: the reasons that it can tell by itself. */
export type FailureClass = Extract<
  ExitClass,
  'out-of-memory' | 'bad-arguments' | 'unreadable-model' | 'port-in-use' | 'crashed'
>;

/** Ends the child. The message is one sentence for people: what, where, what to do. */
export class ChildFailure extends Error {
  override readonly name = 'ChildFailure';

  constructor(
    readonly failureClass: FailureClass,
    message: string,
    readonly where: { readonly device: DeviceName | null; readonly askedBytes: Bytes | null } = {
      device: null,
      askedBytes: null,
    },
  ) {
    super(message);
  }
}

const REASON_LIMIT_CHARS = 400;
const FAILURE_LINE =
  /^failed \((out-of-memory|bad-arguments|unreadable-model|port-in-use|crashed)(?: on ([\w.:-]{1,64}))?(?: asked (\d{1,15}))?\): (.+)$/u;

/** The last line of a child that gives up; people read it in the log, the engine reads it back. */
export function formatFailure(failure: ChildFailure): string {
  const { device, askedBytes } = failure.where;
  const on = device === null ? '' : ` on ${device}`;
  const asked = askedBytes === null ? '' : ` asked ${askedBytes}`;
  const sentence = failure.message.replaceAll(/\s+/gu, ' ').trim();
  return `failed (${failure.failureClass}${on}${asked}): ${sentence.slice(0, REASON_LIMIT_CHARS)}`;
}

/** Reads such a line; null for any other. */
export function parseFailure(line: string): ChildFailure | null {
  const match = FAILURE_LINE.exec(line.trim());
  if (match === null) return null;
  const [, failureClass, device, asked, reason] = match;
  return new ChildFailure(failureClass as FailureClass, (reason ?? '').slice(0, REASON_LIMIT_CHARS), {
    device: device ?? null,
    askedBytes: asked === undefined ? null : Number(asked),
  });
}
