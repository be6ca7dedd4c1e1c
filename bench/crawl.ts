/**
 * HTML to Markdown on installed documentation pages, against linkedom + Readability + turndown on the same pages, page
 * by page in turn on one thread; then pages fetched over HTTP from a local server, as a lab world is read. Where no
 * documentation is installed there is nothing to measure and no figures are given.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import Turndown from "turndown";
import type { Figure } from "../scripts/bench.ts";
import { crawlPage } from "../src/tools/crawl/crawl-page.ts";
import { extractArticle } from "../src/tools/crawl/extract-article.ts";
import { pageFetcher } from "../src/tools/crawl/fetch-page.ts";
import { installedPages, withoutHints, wordOverlap } from "./pages/installed-pages.ts";

export default async function bench(): Promise<Figure[]> {
  const pages = installedPages(100);
  return [...(pages.length > 0 ? await extraction(pages) : []), await lab()];
}

async function extraction(pages: ReturnType<typeof installedPages>): Promise<Figure[]> {
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced" });
  const peer = (html: string) =>
    turndown.turndown(new Readability(parseHTML(html).document as never).parse()?.content ?? "");
  const ours = { ms: 0, f1: 0 };
  const unhinted = { ms: 0, f1: 0 };
  const theirs = { ms: 0, f1: 0 };
  // The first pages warm both sides up and are not counted.
  for (const [number, { html, reference }] of [...pages.slice(0, 5), ...pages].entries()) {
    for (const [sum, convert] of [
      [ours, async () => (await extractArticle(html)).markdown],
      [unhinted, async () => (await extractArticle(withoutHints(html))).markdown],
      [theirs, async () => peer(html)],
    ] as const) {
      const start = performance.now();
      const markdown = await convert();
      if (number < 5) continue;
      sum.ms += performance.now() - start;
      sum.f1 += wordOverlap(markdown.replace(/\]\([^)]*\)/g, "]"), reference).f1 / pages.length;
    }
  }
  const perSecond = ({ ms }: { ms: number }) => (1000 * pages.length) / ms;
  const kilobytes = pages.reduce((sum, { html }) => sum + html.length, 0) / pages.length / 1024;
  const name = "linkedom + Readability + turndown";
  return [
    {
      name: `HTML to Markdown, ${pages.length} pages of ${kilobytes.toFixed(0)} kB on average`,
      value: perSecond(ours),
      unit: "pages/s",
      peer: name,
      ratio: perSecond(ours) / perSecond(theirs),
      target: ">= 30 pages/s",
      met: perSecond(ours) >= 30,
    },
    {
      name: "the same, pages stripped of what names their content",
      value: perSecond(unhinted),
      unit: "pages/s",
      peer: name,
      ratio: perSecond(unhinted) / perSecond(theirs),
      target: ">= 30 pages/s",
      met: perSecond(unhinted) >= 30,
    },
    { name: "words found, F1", value: ours.f1, unit: "", peer: name, ratio: ours.f1 / theirs.f1 },
    { name: "words found, F1, stripped", value: unhinted.f1, unit: "", peer: name, ratio: unhinted.f1 / theirs.f1 },
  ];
}

/** Small pages over real HTTP, one after another: what a chain in a lab world waits for. */
async function lab(): Promise<Figure> {
  const server = createServer((request, response) => {
    const number = Number(request.url?.slice(1));
    const body = `<!doctype html><title>Page ${number}</title><h1>Page ${number}</h1><p>${"A fact about it. ".repeat(20)}</p>`;
    response.writeHead(200, { "content-type": "text/html" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fetcher = pageFetcher({ allowHosts: [host] });
  const tool = crawlPage({ fetchPage: fetcher.fetchPage });
  const signal = new AbortController().signal;
  const read = (number: number) => tool.execute({ urls: [`http://${host}/${number % 600}`] }, { signal });
  for (let number = 0; number < 300; number++) await read(number);
  const start = performance.now();
  const count = 3_000;
  for (let number = 0; number < count; number++) await read(number);
  const value = (60_000 * count) / (performance.now() - start);
  await fetcher.close();
  server.close();
  return { name: "small pages over HTTP, one at a time", value, unit: "pages/min" };
}
