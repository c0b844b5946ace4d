/** Uses something and ends it, however the use goes. Node 22 itself does not know `await using` yet. */
export async function during<R extends AsyncDisposable, T>(resource: R, use: (resource: R) => Promise<T>): Promise<T> {
  try {
    return await use(resource);
  } finally {
    await resource[Symbol.asyncDispose]();
  }
}
