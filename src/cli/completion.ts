import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What follows a flag: one of a few words, a path, or nothing that could be completed. */
type Follows = { readonly words: readonly string[] } | 'path' | 'anything' | 'nothing';

interface Flag {
  /** With its dashes. */
  readonly name: string;
  readonly description: string;
  readonly follows: Follows;
}

interface Subcommand {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly Flag[];
  /** Words that its first argument may be. */
  readonly words: readonly string[];
}

/** A script that makes a shell complete the program's commands, flags and their values. */
export function completionScript(program: Command, shell: Shell): string {
  const commands = program.commands.map(subcommandOf);
  const top = flagsOf(program);
  switch (shell) {
    case 'bash':
      return bash(commands, top);
    case 'zsh':
      // zsh understands bash's way of completing.
      return `#compdef llm-tui\nautoload -U +X bashcompinit && bashcompinit\n${bash(commands, top)}`;
    case 'fish':
      return fish(commands, top);
  }
}

function subcommandOf(command: Command): Subcommand {
  const words = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  return { name: command.name(), description: command.description(), flags: flagsOf(command), words };
}

function flagsOf(command: Command): readonly Flag[] {
  const help: Flag = { name: '--help', description: 'what there is', follows: 'nothing' };
  const flags = command.options.filter((option) => !option.hidden && option.long != null);
  return [
    ...flags.map((option) => ({ name: option.long ?? '', description: option.description, follows: after(option) })),
    help,
  ];
}

function after(option: Option): Follows {
  if (!option.required && !option.optional) return 'nothing';
  if (option.argChoices !== undefined) return { words: option.argChoices };
  return /<(?:dir|file|path)>/u.test(option.flags) ? 'path' : 'anything';
}

function bash(commands: readonly Subcommand[], top: readonly Flag[]): string {
  const names = (flags: readonly Flag[]): string => flags.map(({ name }) => name).join(' ');
  // Of two flags of one name the program's own says what follows.
  const everywhere = new Map([...commands.flatMap(({ flags }) => flags), ...top].map((flag) => [flag.name, flag]));
  const values = [...everywhere.values()].flatMap(({ name, follows }) => {
    if (follows === 'nothing') return [];
    if (follows === 'anything') return [`    ${name}) return ;;`];
    const what = follows === 'path' ? '-f' : `-W '${follows.words.join(' ')}'`;
    return [`    ${name}) COMPREPLY=($(compgen ${what} -- "$word")); return ;;`];
  });
  const cases = commands.map(
    ({ name, flags, words }) => `    ${name}) words='${[names(flags), ...words].join(' ')}' ;;`,
  );
  return `_llm_tui() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words i
  COMPREPLY=()
  case "$before" in
${values.join('\n')}
  esac
  words='${[...commands.map(({ name }) => name), names(top)].join(' ')}'
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
${cases.map((line) => `  ${line}`).join('\n')}
      *) continue ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ \${#COMPREPLY[@]} -gt 0 || "$word" == -* ]] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _llm_tui llm-tui
`;
}

function fish(commands: readonly Subcommand[], top: readonly Flag[]): string {
  const quoted = (text: string): string => `'${text.replace(/[\\']/gu, '\\$&')}'`;
  const flagLine = (condition: string, { name, description, follows }: Flag): string => {
    const value =
      follows === 'nothing'
        ? ''
        : follows === 'path'
          ? ' -r -F'
          : follows === 'anything'
            ? ' -x'
            : ` -x -a ${quoted(follows.words.join(' '))}`;
    return `complete -c llm-tui -n ${quoted(condition)} -l ${name.slice(2)}${value} -d ${quoted(description)}`;
  };
  return [
    'complete -c llm-tui -f',
    ...top.map((flag) => flagLine('__fish_use_subcommand', flag)),
    ...commands.flatMap(({ name, description, flags, words }) => {
      const inside = `__fish_seen_subcommand_from ${name}`;
      return [
        `complete -c llm-tui -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
        ...(words.length === 0 ? [] : [`complete -c llm-tui -n ${quoted(inside)} -a ${quoted(words.join(' '))}`]),
        ...flags.map((flag) => flagLine(inside, flag)),
      ];
    }),
    '',
  ].join('\n');
}
