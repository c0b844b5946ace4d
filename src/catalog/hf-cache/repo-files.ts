// Which files of a Hugging Face repository make up a model, as llama.cpp decides it (its `common/download.cpp`).

/** A file of a repository: its path there, with `/` between folders. */
export interface RepoFile {
  readonly path: string;
}

/** The files that one model is loaded from. */
export interface RepoModel<File extends RepoFile> {
  /** All of them for a model in shards, the first one first. */
  readonly shards: readonly File[];
  readonly projector: File | null;
}

interface SplitName {
  /** Without `.gguf` and without the shard's number. */
  readonly prefix: string;
  /** The quantisation, in capitals; empty where the name ends in none. */
  readonly tag: string;
  readonly index: number;
  readonly count: number;
}

const SHARD = /^(.+)-(\d{5})-of-(\d{5})$/isu;
const TAG = /[-.]([A-Z0-9_]+)$/iu;
/** In the names of files that are loaded beside a model, or not at all. */
const NO_MODEL = ['mmproj', 'mtp-', 'eagle3-', 'dflash-', 'dspark-'];
/** Tags that are looked for where none is asked for, best first. */
const DEFAULT_TAGS = ['Q4_K_M', 'Q8_0'];

/** A tag as llama.cpp compares them: `ud-q4_k_xl` is `Q4_K_XL`. */
export function canonicalTag(tag: string): string {
  return (TAG.exec(tag)?.[1] ?? tag).toUpperCase();
}

/** True for `owner/name` in the letters that Hugging Face allows. */
export function isRepoId(text: string): boolean {
  return text.length <= 256 && /^\w+(?:[.-]\w+)*\/\w+(?:[.-]\w+)*$/u.test(text);
}

/** `owner/name:tag` in its parts; null for anything else. The tag may be left out. */
export function splitRepoTag(name: string): { readonly repo: string; readonly tag: string | null } | null {
  const [repo = '', ...rest] = name.split(':');
  const tag = rest.at(-1) ?? '';
  return isRepoId(repo) && /^[\w.-]*$/u.test(tag) ? { repo, tag: tag === '' ? null : tag } : null;
}

/** The tags of the models that the files hold, in the order of the files. */
export function tagsOf(files: readonly RepoFile[]): string[] {
  const tags = files.flatMap(({ path }) => {
    const name = splitName(path);
    const isModel = name !== null && name.index === 1 && name.tag !== '';
    return isModel && !NO_MODEL.some((word) => name.prefix.includes(word)) ? [name.tag] : [];
  });
  return [...new Set(tags)];
}

/** Every file of the tag, also those that are no model: what is deleted with it. */
export function filesOfTag<File extends RepoFile>(files: readonly File[], tag: string): File[] {
  return files.filter(({ path }) => splitName(path)?.tag === tag.toUpperCase());
}

/** The model that `repo:tag` means, or null. Without a tag: Q4_K_M, else Q8_0, else the first one. */
export function findModel<File extends RepoFile>(files: readonly File[], tag: string | null): RepoModel<File> | null {
  const models = files.filter(({ path }) => {
    const name = splitName(path);
    return name !== null && isModelFile(path) && !(name.count > 1 && name.index !== 1);
  });
  const tags = tag === null ? DEFAULT_TAGS : [tag];
  const matching = tags.flatMap((wanted) => models.filter(({ path }) => names(path, wanted)));
  const first = matching[0] ?? (tag === null ? models[0] : undefined);
  return first === undefined ? null : { shards: shardsWith(files, first), projector: projectorFor(files, first.path) };
}

function splitName(path: string): SplitName | null {
  if (!path.endsWith('.gguf')) return null;
  const whole = path.slice(0, -'.gguf'.length);
  const shard = SHARD.exec(whole);
  const prefix = shard?.[1] ?? whole;
  const tag = (TAG.exec(prefix)?.[1] ?? '').toUpperCase();
  return { prefix, tag, index: Number(shard?.[2] ?? 1), count: Number(shard?.[3] ?? 1) };
}

function isModelFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return ![...NO_MODEL, 'imatrix'].some((word) => name.includes(word));
}

/** llama.cpp searches the path for the tag with a dot or a dash behind it, anywhere. */
function names(path: string, tag: string): boolean {
  const [text, wanted] = [path.toUpperCase(), tag.toUpperCase()];
  return text.includes(`${wanted}.`) || text.includes(`${wanted}-`);
}

function shardsWith<File extends RepoFile>(files: readonly File[], first: File): readonly File[] {
  const name = splitName(first.path);
  if (name === null || name.count <= 1) return [first];
  const isSibling = ({ path }: File): boolean => {
    const other = splitName(path);
    return other?.count === name.count && other.prefix === name.prefix;
  };
  return files.filter(isSibling).sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** Of the projectors beside the model or in a folder above it the deepest, then the one of the nearest quantisation. */
function projectorFor<File extends RepoFile>(files: readonly File[], model: string): File | null {
  const folders = model.split('/').slice(0, -1);
  let best: { readonly file: File; readonly depth: number; readonly far: number } | null = null;
  for (const file of files) {
    if (!file.path.endsWith('.gguf') || !file.path.includes('mmproj')) continue;
    const own = file.path.split('/').slice(0, -1);
    if (own.some((folder, index) => folder !== folders[index])) continue;
    const [depth, far] = [own.length, Math.abs(bitsOf(file.path) - bitsOf(model))];
    if (best === null || depth > best.depth || (depth === best.depth && far < best.far)) best = { file, depth, far };
  }
  return best?.file ?? null;
}

/** `Q4_K_M` has 4, `F16` has 16. */
function bitsOf(path: string): number {
  return Number(/\d+/u.exec(splitName(path)?.tag ?? '')?.[0] ?? 0);
}
