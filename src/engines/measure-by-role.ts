import type { Command, Engine, ExitEvidence, ExitVerdict, Measurement } from './engine.js';

/** A measurement by one child that takes the role `measure` and says in one message what it found. */
export function measureByRole(command: Command, engine: Pick<Engine, 'reader' | 'classify'>): Measurement {
  const reader = engine.reader();
  return {
    command,
    read(line) {
      const message = reader.read(line, 'stdout');
      return message?.type === 'measured' ? message.result : null;
    },
    ended: (evidence) => ({ result: 'failed', error: whyNothing(engine.classify(evidence), evidence) }),
  };
}

/** Why a child has ended without a result; where its end does not tell, what it said last may. */
export function whyNothing({ exitClass, reason }: ExitVerdict, { lastLines }: ExitEvidence): string {
  const last = lastLines.at(-1) ?? '';
  return exitClass !== 'crashed' || last === '' || last === reason ? reason : `${reason}: ${last}`;
}
