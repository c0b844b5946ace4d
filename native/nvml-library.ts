import { createRequire } from 'node:module';

/** NVML's functions by name, as the driver's library exports them. Nothing here starts CUDA. */
export interface NvmlLibrary {
  /** The name or path under which it was found. */
  readonly file: string;
  /**
   * Calls a function that returns `nvmlReturn_t`. A bigint is a device handle, a number an unsigned int, a Buffer the
   * memory that the function fills. Blocks for as long as the driver likes.
   */
  call(name: string, args: readonly NvmlArgument[]): number;
  /** The driver's own words for a return code. */
  errorString(code: number): string;
}

export type NvmlArgument = bigint | number | Buffer | null;

/** WSL and NixOS keep the driver's libraries where the loader does not look by itself. */
const LINUX_NAMES = [
  'libnvidia-ml.so.1',
  '/usr/lib/wsl/lib/libnvidia-ml.so.1',
  '/run/opengl-driver/lib/libnvidia-ml.so.1',
];

/**
 * Loads NVML by name, so that LD_LIBRARY_PATH has its say. Throws an Error with the loader's own words where there is
 * none; on macOS there never is. Source: NVML API Reference Guide, "Known Issues" and "Modules".
 */
export function loadNvml(platform: NodeJS.Platform = process.platform): NvmlLibrary {
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const { library, file } = openFirst(koffi, namesFor(platform));
  const functions = new Map<string, ((...args: unknown[]) => number) | null>();
  const find = (name: string, signature: string): ((...args: unknown[]) => number) | null => {
    const known = functions.get(name);
    if (known !== undefined) return known;
    const found = declare(() => library.func(signature) as (...args: unknown[]) => number);
    functions.set(name, found);
    return found;
  };
  const errorText = declare(() => library.func('const char *nvmlErrorString(int result)') as (code: number) => string);
  return {
    file,
    call(name, args) {
      const call = find(name, `int ${name}(${args.map(typeOf).join(', ') || 'void'})`);
      return call === null ? FUNCTION_NOT_FOUND : call(...args);
    },
    errorString: (code) => errorText?.(code) ?? `NVML error ${code}`,
  };
}

/** `NVML_ERROR_FUNCTION_NOT_FOUND`: what a newer NVML would say itself of a function that it lacks. */
const FUNCTION_NOT_FOUND = 13;

function typeOf(argument: NvmlArgument): string {
  if (typeof argument === 'bigint') return 'uintptr_t';
  return typeof argument === 'number' ? 'unsigned int' : 'void *';
}

function namesFor(platform: NodeJS.Platform): readonly string[] {
  if (platform === 'win32') return ['nvml.dll'];
  return platform === 'linux' ? LINUX_NAMES : [];
}

function openFirst(koffi: typeof import('koffi'), names: readonly string[]) {
  let why: unknown = new Error('there is no NVML on this system');
  for (const file of names) {
    try {
      return { file, library: koffi.load(file) };
    } catch (error) {
      // The first name's words count: the others are places where it is only sometimes.
      if (file === names[0]) why = error;
    }
  }
  throw why;
}

function declare<T>(find: () => T): T | null {
  try {
    return find();
  } catch {
    return null;
  }
}
