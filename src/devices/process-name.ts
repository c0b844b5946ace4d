import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** A process may call itself what it likes: no control character, no mark that turns the direction of text around. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * The kernel's short name of a process, at most 15 bytes; empty where it cannot be told. Never its arguments: those may
 * hold secrets.
 */
export function nameOfProcess(pid: number): string {
  try {
    return stripVTControlCharacters(readFileSync(`/proc/${pid}/comm`, 'utf8'))
      .replace(UNPRINTABLE, '')
      .trim();
  } catch {
    return '';
  }
}
