import { classifyExit } from '../classify-exit.js';
import type { ExitEvidence, ExitVerdict } from '../engine.js';
import { parseFailure } from './failure.js';

/**
 * What the end of a child was. A child that gives up says why in its last lines; one that was killed or crashed
 * inside llama.cpp is judged by its exit code, its signal and llama.cpp's own words.
 */
export function classifyEmbeddedExit(evidence: ExitEvidence): ExitVerdict {
  if (evidence.asked || evidence.signal !== null) return classifyExit(evidence);
  const failure = evidence.lastLines.map(parseFailure).findLast((found) => found !== null);
  if (!failure) return classifyExit(evidence);
  return { exitClass: failure.failureClass, reason: failure.message, ...failure.where };
}
