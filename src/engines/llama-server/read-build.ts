import { createReadStream, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The variable that tells a child its role. Builds that do not know it would load the model instead of measuring it. */
export const ROLE_VARIABLE = 'LLAMA_SERVER_CHILD_ROLE';
/** What a child's messages to its router begin with. Builds that do not know it never say that they are ready. */
export const PROTOCOL_WORD = 'cmd_child_to_router';
/** Where the server's code is when the program itself is only a door to it. */
const SERVER_LIBRARY = /^(?:lib)?llama-server-impl\b.*\.(?:so|dll|dylib)\b/;

/** Tells one build of a program from another: where it is, how long and how old, and the same of the server's library. */
export function buildOf(binary: string): string {
  const path = realpathSync(binary);
  return [path, ...serverLibraries(dirname(path))].map(stampOf).join(' ');
}

function stampOf(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return `${path} ${size} ${Math.round(mtimeMs)}`;
}

/**
 * Whether a word stands in a llama-server's code. Nothing that it prints tells which roles its children take, or whether
 * they speak to a router, and trying it out would load a model into memory.
 */
export async function knowsWord(binary: string, word: string): Promise<boolean> {
  for (const file of [binary, ...serverLibraries(dirname(realpathSync(binary)))]) {
    if (await contains(file, Buffer.from(word))) return true;
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
