// SPDX-License-Identifier: Apache-2.0
/** Source of the data: a server, or the file that contains the page. Pages use only `Host`. */
import { answerFromFile } from "./file_answers";
import type { ReportFile } from "./report_file";
import type { Info, Problem, Status } from "./types";

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A refusal with the problems and their places. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly problems: readonly Problem[] = [],
  ) {
    super(message);
  }
}

export interface Host {
  /** Return the answer of a path below `/web/v1/`. */
  get<T>(path: string, query?: Parameters, accept?: string): Promise<T>;
  post<T>(path: string, body: unknown, query?: Parameters): Promise<T>;
  /** Send any request, for texts in other formats. Throws `ApiError` for refusals. */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
}

export interface RequestOptions {
  readonly query?: Parameters;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export class ServerHost implements Host {
  constructor(
    private readonly token: string,
    private readonly refused: () => void,
  ) {}

  async get<T>(path: string, query: Parameters = {}, accept = "application/json"): Promise<T> {
    return (await this.request("GET", path, { query, accept })).json() as Promise<T>;
  }

  async post<T>(path: string, body: unknown, query: Parameters = {}): Promise<T> {
    const options = { query, body: JSON.stringify(body), contentType: "application/json" };
    return (await this.request("POST", path, options)).json() as Promise<T>;
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: options.accept ?? "application/json" };
    if (this.token) headers["Authorization"] = `Bearer ${this.token}`;
    if (options.contentType) headers["Content-Type"] = options.contentType;
    const response = await reach(() =>
      fetch(address(path, options.query), {
        method,
        headers,
        body: options.body ?? null,
        signal: options.signal ?? null,
        cache: "no-store",
        credentials: "same-origin",
      }),
    );
    if (response.ok) return response;
    if (response.status === 401) this.refused();
    throw await refusal(response);
  }
}

/** The data of a report, contained in the file. */
export class FileHost implements Host {
  constructor(private readonly report: ReportFile) {}

  async get<T>(path: string, query: Parameters = {}): Promise<T> {
    const answer = path === "info" ? this.report.data.info : await answerFromFile(this.report.answer, path, query);
    if (answer === undefined) throw new ApiError(`This report does not hold ${path}.`, 404);
    return answer as T;
  }

  post<T>(): Promise<T> {
    return Promise.reject(new ApiError("A report is a file: there is no server that could be asked.", 405));
  }

  request(): Promise<Response> {
    return this.post();
  }
}

export function isReadOnly(info: Info): boolean {
  return info.readOnly || info.host === "file";
}

async function reach(ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", 0);
  }
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const status = JSON.parse(text) as Status;
    return new ApiError(status.message || response.statusText, response.status, status.details?.causes ?? []);
  } catch {
    return new ApiError(text.slice(0, 500) || response.statusText, response.status);
  }
}

function address(path: string, query: Parameters = {}): string {
  const url = new URL(`web/v1/${path}`, location.href.replace(/[#?].*$/, ""));
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** Return a path of encoded names, which may contain any character. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join("/");
}
