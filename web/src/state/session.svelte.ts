// SPDX-License-Identifier: Apache-2.0
/** State shared by all pages: the host and its capabilities, the current view, the theme, and the cluster. */
import { ApiError, FileHost, type Host, ServerHost } from "../api/host";
import { partsOfPage, ReportFile } from "../api/report_file";
import type { Capability, ClusterSnapshot, Info } from "../api/types";
import { link, parseRoute, type Query, type Route, takeToken } from "../route";
import { LiveCluster } from "./live.svelte";

const TOKEN_KEY = "steersman-token";
const THEME_KEY = "steersman-theme";

export type Theme = "system" | "light" | "dark";

class Session {
  route = $state.raw<Route>(parseRoute(""));
  info = $state.raw<Info | null>(null);
  /** Whether to ask for a token: the server needs one, and there is none or an invalid one. */
  needsToken = $state(false);
  /** Whether the server rejected the token that the reader typed. */
  tokenRefused = $state(false);
  /** Why the host cannot be used, in a sentence. */
  problem = $state("");
  theme = $state<Theme>("system");
  systemDark = $state(false);
  /** A past moment that all pages show, or null for now. */
  readonly at = $derived(this.route.query["at"] === undefined ? null : Number(this.route.query["at"]));
  readonly dark = $derived(this.theme === "dark" || (this.theme === "system" && this.systemDark));
  readonly cluster = new LiveCluster();
  host = $state.raw<Host | null>(null);
  private following = new AbortController();

  /**
   * Reference of relative times: the time of an answer made `since` then, which advances while the present is shown.
   */
  now(since: number): number {
    return this.at === null ? Math.max(since, this.cluster.time) : since;
  }

  can(capability: Capability): boolean {
    return this.info?.capabilities.includes(capability) ?? false;
  }

  /** Read the address, the theme and the token, and load the description of the host. */
  async start(): Promise<void> {
    this.readTheme();
    const { token, rest } = takeToken(location.hash);
    if (token !== null) {
      sessionStorage.setItem(TOKEN_KEY, token);
      history.replaceState(null, "", rest);
    }
    this.route = parseRoute(location.hash);
    addEventListener("hashchange", () => this.arrive());
    const report = ReportFile.of(partsOfPage(document));
    await this.connect(report ? new FileHost(report) : this.server(sessionStorage.getItem(TOKEN_KEY) ?? ""));
  }

  /** Try a token that the reader typed. */
  async enter(token: string): Promise<void> {
    sessionStorage.setItem(TOKEN_KEY, token);
    await this.connect(this.server(token));
    this.tokenRefused = this.needsToken;
  }

  /** Go to another view at the same moment. */
  go(path: readonly string[], query: Query = {}): void {
    location.hash = this.link(path, query);
  }

  /** Return the link to a view at the current moment. */
  link(path: readonly string[], query: Query = {}): string {
    return link(path, { at: this.at, ...query });
  }

  /** Change the query of this view without an entry in the browser's history. */
  adjust(query: Query): void {
    const all = { ...this.route.query, ...query };
    history.replaceState(null, "", link(this.route.path, all));
    this.arrive();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    localStorage.setItem(THEME_KEY, theme);
    this.showTheme();
  }

  /** Reconnect, for example after a reset of the sandbox. */
  refresh(): void {
    if (this.host) void this.watch(this.host);
  }

  private server(token: string): ServerHost {
    return new ServerHost(token, () => (this.needsToken = true));
  }

  private async connect(host: Host): Promise<void> {
    this.problem = "";
    this.needsToken = false;
    try {
      this.info = await host.get<Info>("info");
      this.host = host;
      await this.watch(host);
    } catch (error) {
      if (error instanceof ApiError && error.code === 401) sessionStorage.removeItem(TOKEN_KEY);
      else this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  /** Follow the stream, or show the requested moment. */
  private async watch(host: Host): Promise<void> {
    this.following.abort();
    this.following = new AbortController();
    const { signal } = this.following;
    if (this.can("stream") && this.at === null) void this.cluster.follow(host, signal);
    else await this.cluster.show(await host.get<ClusterSnapshot>("cluster", { at: this.at }), signal);
  }

  private arrive(): void {
    const before = this.at;
    this.route = parseRoute(location.hash);
    if (this.at !== before && this.host) void this.watch(this.host).catch((error: Error) => (this.problem = error.message));
  }

  private readTheme(): void {
    const wish = localStorage.getItem(THEME_KEY);
    this.theme = wish === "light" || wish === "dark" ? wish : "system";
    const media = matchMedia("(prefers-color-scheme: dark)");
    this.systemDark = media.matches;
    media.addEventListener("change", (event) => {
      this.systemDark = event.matches;
      this.showTheme();
    });
    this.showTheme();
  }

  private showTheme(): void {
    document.documentElement.dataset["theme"] = this.dark ? "dark" : "light";
  }
}

export const session = new Session();
