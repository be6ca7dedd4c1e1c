/** The thread behind `inExtractionThread`. */
import { answerCalls } from "../../base/work/thread.ts";
import { htmlToMarkdown, type MarkdownOptions } from "./html-to-markdown.ts";

export interface ReadArticle {
  title: string;
  markdown: string;
  /** Of text, Markdown's own marks not counted. */
  characters: number;
}

const calls = { article: readArticle, pdf: readPdf };

export type ExtractionCalls = typeof calls;

answerCalls(calls);

async function readArticle({ html, options }: { html: string; options: MarkdownOptions }) {
  const [{ parseHTML }, { Readability }] = await Promise.all([import("linkedom"), import("@mozilla/readability")]);
  const { document } = parseHTML(html);
  const article = new Readability(document, { charThreshold: 250 }).parse();
  if (!article?.content) return undefined;
  // Readability has removed navigation, headers and footers; what is left stays, forms included.
  const page = htmlToMarkdown(article.content, { ...options, everything: true });
  const characters = page.linkCharacters + page.plainCharacters;
  return { title: article.title?.trim() ?? "", markdown: page.markdown, characters } satisfies ReadArticle;
}

async function readPdf(bytes: Uint8Array) {
  const { extractText, getDocumentProxy, getMeta } = await import("unpdf");
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  const { text } = await extractText(document, { mergePages: false });
  const { info } = await getMeta(document);
  return { title: typeof info["Title"] === "string" ? info["Title"] : "", pages: text };
}
