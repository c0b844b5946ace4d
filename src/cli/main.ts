export async function main(a: string[]): Promise<void> {
  console.log(process.version, a);
  await Promise.resolve();
}
