// Writes the manual page from the description of the command line, as built: `npm run man`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { manPage } from '../dist/src/cli/man-page.js';
import { describeProgram } from '../dist/src/cli/program.js';
import { VERSION } from '../dist/src/cli/version.js';

const directory = resolve(import.meta.dirname, '../man');
mkdirSync(directory, { recursive: true });
writeFileSync(join(directory, 'llm-tui.1'), manPage(describeProgram(), VERSION));
