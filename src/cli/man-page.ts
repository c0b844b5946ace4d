import type { Command, Option } from 'commander';

const FILES: readonly (readonly [string, string])[] = [
  ['$XDG_STATE_HOME/llm-tui', 'pins, measurements, logs and the journal; see --state-dir'],
  ['$HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub', 'models of Hugging Face; LLAMA_CACHE goes before them'],
];

/** Each in the order in which it is looked for. */
const SECRETS: readonly (readonly [string, string])[] = [
  [
    'Keys of clients',
    '--api-key, else LLAMA_API_KEY; those in the file of --api-key-file, else of LLAMA_ARG_API_KEY_FILE, are good besides',
  ],
  ['Token for Hugging Face', '--hf-token, else HF_TOKEN; no file is read for it. A preset may give a model its own'],
  [
    'A supervisor that the screen starts',
    'finds them in the same order: a flag of the screen goes on in the environment, in place of the variable, so that no list of processes shows it. One that runs already keeps what it was started with',
  ],
];

const SIGNALS: readonly (readonly [string, string])[] = [
  [
    'SIGINT, SIGTERM',
    'stop every model and end; a second one, half a second later or more, kills what has not left yet',
  ],
  ['SIGHUP', 'serve reads the models again; when its terminal has gone, it ends'],
];

const EXIT_CODES: readonly (readonly [string, string])[] = [
  ['0', 'it worked'],
  ['1', 'it failed'],
  ['2', 'wrong usage'],
];

const COMPLETION: readonly (readonly [string, string])[] = [
  ['bash', 'llm-tui completion bash > ~/.local/share/bash-completion/completions/llm-tui'],
  ['zsh', 'llm-tui completion zsh > a file _llm-tui in a directory of $fpath'],
  ['fish', 'llm-tui completion fish > ~/.config/fish/completions/llm-tui.fish'],
];

/** The manual page, in man(7)'s language, from the description of the command line that also runs it. */
export function manPage(program: Command, version: string): string {
  return [
    `.TH LLM\\-TUI 1 "" "llm\\-tui ${escaped(version)}" "User Commands"`,
    '.SH NAME',
    'llm\\-tui \\- router, scheduler and live screen for many local LLMs',
    '.SH SYNOPSIS',
    '.B llm\\-tui',
    '.RI [ flags ]',
    '.br',
    '.B llm\\-tui',
    '.I command',
    '.RI [ flags ]',
    '.SH DESCRIPTION',
    escaped(program.description()),
    'Without a command it starts a supervisor in the background, unless one runs, and shows its screen.',
    'Flags that are not listed here are options for the models, as their engine knows them.',
    '.SH FLAGS',
    ...program.options.filter(({ hidden }) => !hidden).flatMap(describeOption),
    '.SH COMMANDS',
    ...program.commands.flatMap(describeCommand),
    ...section('KEYS AND TOKENS', SECRETS),
    ...section('SIGNALS', SIGNALS),
    ...section('FILES', FILES),
    ...section('SHELL COMPLETION', COMPLETION),
    ...section('EXIT STATUS', EXIT_CODES),
    '',
  ].join('\n');
}

function describeCommand(command: Command): readonly string[] {
  const flags = command.options.filter(({ hidden }) => !hidden);
  const args = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? ` <${name}>` : ` [${name}]`;
  });
  return [
    `.SS "${escaped(command.name() + args.join(''))}"`,
    `${escaped(capital(command.description()))}.`,
    // The flags of serve are those of the program itself.
    ...(command.name() === 'serve' ? ['It has the flags above.'] : flags.flatMap(describeOption)),
  ];
}

function describeOption(option: Option): readonly string[] {
  const more = [
    ...(option.argChoices === undefined ? [] : [`one of ${option.argChoices.join(', ')}`]),
    ...(option.defaultValue === undefined ? [] : [`default: ${String(option.defaultValue)}`]),
    ...(option.envVar === undefined ? [] : [`environment: ${option.envVar}`]),
  ];
  const text = capital(option.description) + (more.length === 0 ? '' : ` (${more.join('; ')})`);
  return ['.TP', `.B ${escaped(option.flags)}`, `${escaped(text)}.`];
}

function section(title: string, items: readonly (readonly [string, string])[]): readonly string[] {
  return [
    `.SH ${title}`,
    ...items.flatMap(([term, text]) => ['.TP', `.B ${escaped(term)}`, `${escaped(capital(text))}.`]),
  ];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Dashes that can be copied, and no line that begins like a request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^([.'])/u, '\\&$1');
}
