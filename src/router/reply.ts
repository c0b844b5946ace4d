import { ServerResponse, type IncomingMessage } from 'node:http';

/** A response whose headers for pages go with whatever answer it comes to be. */
export class Reply<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Flat list of names and values; set one by one, they would cost as much as all the rest of the head. */
  pageHeaders: readonly string[] = [];

  /**
   * Writes the head.
   * @param headers flat list of names and values
   * @param reason the status in words; empty: the usual ones
   */
  begin(status: number, headers: readonly string[], reason = ''): void {
    const all = this.pageHeaders.length > 0 ? [...this.pageHeaders, ...headers] : (headers as string[]);
    if (reason === '') this.writeHead(status, all);
    else this.writeHead(status, reason, all);
  }
}
