import { createReadStream, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The variable that tells a child its role. Builds that do not know it would load the model instead of measuring it. */
const ROLE_VARIABLE = Buffer.from('LLAMA_SERVER_CHILD_ROLE');
/** Where the server's code is when the program itself is only a door to it. */
const SERVER_LIBRARY = /^(?:lib)?llama-server-impl\b.*\.(?:so|dll|dylib)\b/;

/** Tells one build of a program from another: where it is, how long and how old. */
export function buildOf(binary: string): string {
  const { size, mtimeMs } = statSync(binary);
  return `${realpathSync(binary)} ${size} ${Math.round(mtimeMs)}`;
}

/**
 * Whether a llama-server's children take the role `measure`. Nothing that it prints tells, and trying it out would load
 * a model into memory where it does not; but the name of the variable stands in its code.
 */
export async function hasMeasureRole(binary: string): Promise<boolean> {
  for (const file of [binary, ...serverLibraries(dirname(realpathSync(binary)))]) {
    if (await contains(file, ROLE_VARIABLE)) return true;
  }
  return false;
}

function serverLibraries(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => SERVER_LIBRARY.test(name))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** False for a file that cannot be read. */
async function contains(file: string, text: Buffer): Promise<boolean> {
  let tail: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      const window = Buffer.concat([tail, chunk as Buffer]);
      if (window.includes(text)) return true;
      tail = window.subarray(-text.length);
    }
  } catch {
    // Whether it can be run is found out elsewhere.
  }
  return false;
}
