import { distance } from 'fastest-levenshtein';
import { refusalOf } from '../../src/client/sources.js';
import type { ModelId } from '../../src/client/types.js';
import { visibleText } from '../text/clean.js';
import { offers, type ScreenView } from '../view.js';
import type { Command } from './command.js';

/** A typed command as it is understood, or why it is not, in one sentence. */
export type Typed =
  | { readonly command: Command; readonly argument: string | null; readonly named: ModelId | null }
  | { readonly problem: string };

/** Understands a line that was typed after `:`. A name may be cut short where only one begins like that. */
export function understand(line: string, commands: readonly Command[], view: ScreenView): Typed {
  const { name, rest } = split(line);
  const offered = commands.filter((command) => offers(view, command.needs, command.acts));
  const command = oneOf(offered, name, (each) => each.name);
  if (command === null) {
    // One that there is, but not here, was not mistyped.
    const known = commands.find((each) => each.name === name);
    if (known !== undefined) return { problem: whyNotHere(known, view) };
    return {
      problem: `no command is called "${cut(name)}"${nearest(
        name,
        offered.map((each) => each.name),
      )}`,
    };
  }
  if (rest === '') return { command, argument: null, named: null };
  const { takes } = command;
  if (takes === null) return { problem: `${command.name} is typed without anything after it` };
  if (takes === 'words') return { command, argument: rest, named: null };
  if (takes === 'model') return understandModel(command, rest, view);
  const choice = oneOf(takes, rest, (each) => each);
  if (choice !== null) return { command, argument: choice, named: null };
  return {
    problem: `${command.name} takes ${takes.slice(0, -1).join(', ')} or ${takes.at(-1) ?? ''}, not "${cut(rest)}"`,
  };
}

/** What this screen, or what it looks at, has against a command. */
export function whyNotHere({ name, needs }: Command, { options: { source } }: ScreenView): string {
  return needs !== null && !source.can.has(needs) ? refusalOf(source, name) : 'this screen is read-only';
}

function understandModel(command: Command, rest: string, view: ScreenView): Typed {
  const { models } = view.snapshot;
  const byAlias = models.find(({ id, aliases }) => id === rest || aliases.includes(rest));
  const model = byAlias ?? oneOf(models, rest, ({ id }) => id);
  if (model !== null) return { command, argument: null, named: model.id };
  const ids = models.map(({ id }) => id);
  return { problem: `no model is called "${cut(rest)}"${nearest(rest, ids) || '; Tab lists those that there are'}` };
}

/** What the line may go on with: whole lines, in the order in which they are listed. */
export function completions(line: string, commands: readonly Command[], view: ScreenView): readonly string[] {
  const { name, rest, hasRest } = split(line);
  const offered = commands.filter((command) => offers(view, command.needs, command.acts));
  if (!hasRest) return offered.map((command) => command.name).filter((each) => each.startsWith(name));
  const command = oneOf(offered, name, (each) => each.name);
  if (command === null || command.takes === null || command.takes === 'words') return [];
  const known = command.takes === 'model' ? view.snapshot.models.map(({ id }) => id) : command.takes;
  return known.filter((each) => each.startsWith(rest)).map((each) => `${command.name} ${each}`);
}

/** Of a completion only what is still open: the name of the model, not the command before it. */
export function whatIsOpen(completion: string, typed: string): string {
  return split(typed).hasRest ? completion.slice(completion.indexOf(' ') + 1) : completion;
}

/** What is to be said where nothing goes on like this; null: something does. */
export function whyNoCompletion(line: string, commands: readonly Command[], view: ScreenView): string | null {
  if (completions(line, commands, view).length > 0) return null;
  const { name, rest, hasRest } = split(line);
  if (!hasRest) return `no command begins with "${cut(name)}"`;
  const takes = commands.find((command) => command.name === name)?.takes;
  if (takes === null) return `${name} is typed without anything after it`;
  return takes === 'words' ? 'any words may follow' : `nothing begins with "${cut(rest)}" that could follow`;
}

/** The line with as much added as all completions have in common; a name that is whole is followed by a blank. */
export function complete(line: string, commands: readonly Command[], view: ScreenView): string {
  const all = completions(line, commands, view);
  const [first, ...others] = all;
  if (first === undefined) return line;
  if (others.length === 0) {
    const takes = commands.find((command) => command.name === first)?.takes ?? null;
    return takes === null ? first : `${first} `;
  }
  let common = first;
  for (const other of others) while (!other.startsWith(common)) common = common.slice(0, -1);
  return common.length > line.length ? common : line;
}

function split(line: string): { readonly name: string; readonly rest: string; readonly hasRest: boolean } {
  const text = line.trimStart();
  const blank = text.search(/\s/u);
  if (blank < 0) return { name: text, rest: '', hasRest: false };
  return { name: text.slice(0, blank), rest: text.slice(blank).trim(), hasRest: true };
}

/** The one that is called so, or the only one that begins so. */
function oneOf<T>(all: readonly T[], wanted: string, nameOf: (each: T) => string): T | null {
  const exact = all.find((each) => nameOf(each) === wanted);
  if (exact !== undefined) return exact;
  const starting = wanted === '' ? [] : all.filter((each) => nameOf(each).startsWith(wanted));
  return starting.length === 1 ? (starting[0] ?? null) : null;
}

/** The name that was most likely meant, in words; those that begin so where there are several; nothing where none is near. */
function nearest(wanted: string, names: readonly string[]): string {
  // Whoever types a command as in other programs means what comes after that.
  const bare = wanted.replace(/^[:/!-]+/u, '').toLowerCase();
  const starting = bare === '' ? [] : names.filter((name) => name.toLowerCase().startsWith(bare));
  if (starting.length > 1) return `; these begin so: ${starting.slice(0, 5).map(cut).join(', ')}`;
  const farthest = Math.max(2, Math.floor(bare.length / 2));
  const ranked = names
    .map((name) => ({ name, steps: stepsBetween(bare, name.toLowerCase()) }))
    .filter(({ steps }) => steps <= farthest)
    .sort((a, b) => a.steps - b.steps);
  const best = starting[0] ?? ranked[0]?.name;
  return best === undefined ? '' : `; the nearest is ${cut(best)}`;
}

/** Letters that have changed places are one mistake less. */
function stepsBetween(one: string, other: string): number {
  const letters = (word: string): string => Array.from(word).sort().join('');
  return distance(one, other) - (letters(one) === letters(other) ? 1 : 0);
}

const LONGEST_SAID_CHARS = 40;

function cut(text: string): string {
  const clean = visibleText(text);
  return clean.length > LONGEST_SAID_CHARS ? `${clean.slice(0, LONGEST_SAID_CHARS)}..` : clean;
}
