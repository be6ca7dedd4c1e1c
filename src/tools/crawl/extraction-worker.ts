/** The thread behind `inExtractionThread`: one job in, one reply out. */
import { parentPort } from "node:worker_threads";
import { messageOf } from "../../core/errors.ts";
import type { ExtractionJob, ExtractionReply, ReadArticle, ReadPdf } from "./extraction-thread.ts";
import { htmlToMarkdown, type MarkdownOptions } from "./html-to-markdown.ts";

const port = parentPort!;

port.on("message", async (job: ExtractionJob) => {
  let reply: ExtractionReply;
  try {
    reply = { result: job.kind === "pdf" ? await readPdf(job.bytes) : await readArticle(job.html, job.options) };
  } catch (error) {
    reply = { error: messageOf(error) };
  }
  port.postMessage(reply);
});

async function readArticle(html: string, options: MarkdownOptions): Promise<ReadArticle | undefined> {
  const [{ parseHTML }, { Readability }] = await Promise.all([import("linkedom"), import("@mozilla/readability")]);
  const { document } = parseHTML(html);
  const article = new Readability(document as never, { charThreshold: 250 }).parse();
  if (!article?.content) return undefined;
  // Readability has removed navigation, headers and footers; what is left stays, forms included.
  const page = htmlToMarkdown(article.content, { ...options, everything: true });
  const characters = page.linkCharacters + page.plainCharacters;
  return { title: article.title?.trim() ?? "", markdown: page.markdown, characters };
}

async function readPdf(bytes: Uint8Array): Promise<ReadPdf> {
  const { extractText, getDocumentProxy, getMeta } = await import("unpdf");
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  const { text } = await extractText(document, { mergePages: false });
  const { info } = await getMeta(document);
  return { title: typeof info["Title"] === "string" ? info["Title"] : "", pages: text };
}
