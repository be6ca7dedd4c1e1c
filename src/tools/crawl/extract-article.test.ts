import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { installedPages, withoutHints, wordOverlap } from "../../../bench/pages/installed-pages.ts";
import { testSize } from "../../../test/fixtures/test-size.ts";
import { extractArticle } from "./extract-article.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";

const markdown = (html: string) => htmlToMarkdown(html, { url: "https://example.org/a/b" }).markdown;

describe("htmlToMarkdown", () => {
  it("keeps headings, lists, code, tables, quotes, emphasis and links", () => {
    const html = `<title>T</title><h1> Head <a href="#x"></a></h1><p>Hello <b>bold</b> <b>again</b>, <a href="/rel">a
      link</a>.<ul><li><p>one</p><li>two<ol><li>in</ol></ul><table><tr><th>A</th> <th>B</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>
      <pre><code>x = 1
  y</code></pre><blockquote><p>q</p></blockquote>after<br>line <img alt="pic"> <code>c</code>`;
    assert.equal(
      markdown(html),
      "# Head\n\nHello **bold** **again**, [a link](https://example.org/rel).\n\n- one\n\n- two\n\n  1. in\n\n" +
        "A | B\n1 | 2\n\n```\nx = 1\n  y\n```\n\n> q\n\nafter\nline [image: pic] `c`",
    );
  });

  it("leaves out what is not content: scripts, styles, comments, navigation, hidden parts", () => {
    const html = `<style>p{}</style><nav>menu<ul><li>x</ul></nav><!-- <p>comment</p> --><p>kept</p><script>"</p><p>code"</script>
      <div hidden><div>inner</div>hidden</div><div style="display: none">none</div><footer>foot</footer><form>form</form><p>end`;
    assert.equal(markdown(html), "kept\n\nend");
    assert.match(htmlToMarkdown(html, { everything: true }).markdown, /menu[\s\S]*foot/);
  });

  it("survives broken markup", () => {
    for (const [html, expected] of [
      ["<p>1 < 2 & 3 > 2 &unknown; &#x41;&#66; &#0; &copy;", "1 < 2 & 3 > 2 &unknown; AB � ©"],
      ['<p title="a > b">in</p>', "in"],
      ['<p title="unclosed>text</p>', "text"],
      ["text <b>never closed", "text **never closed"],
      ["</div></div>x</p>", "x"],
      ["<", "<"],
      ["<p", ""],
      ["<!-- open", ""],
      ["<script>open", ""],
      ["", ""],
      ["<li>alone", "- alone"],
      ["<item><title>a</title><p><![CDATA[Some <b>bold</b> news]]></p></item>", "Some bold news"],
      ["<![CDATA[open", "open"],
    ] as const)
      assert.equal(markdown(html), expected, html);
  });

  it("takes time in proportion to the page", () => {
    // Each of these is slow in a scanner that looks ahead again and again; a minute would end the test.
    for (const piece of [
      "<a ",
      "<a href='",
      "<!--",
      "<b>",
      "<pre>",
      "<div hidden>",
      "</p>",
      "&",
      "<script>",
      '<p x="',
      "\n",
      " ",
    ])
      assert.equal(typeof markdown(piece.repeat(20_000)), "string");
    const spaces = " ".repeat(500_000);
    for (const html of [
      `<pre>${spaces}x</pre>`,
      `${"<pre>x</pre><b><a href='/y'>z</a></b>".repeat(20_000)}`,
      `<p x="${spaces}`,
    ])
      assert.equal(typeof markdown(html), "string");
  });

  it("makes no link of addresses that are not of the web", () => {
    assert.equal(
      markdown(`<a href="javascript:x()">a</a> <a href="mailto:x">b</a> <a>c</a> <a href="data:x">d</a>`),
      "a b c d",
    );
  });
});

describe("extractArticle", () => {
  const sentence = "This sentence, which is part of the article, is repeated so that there is enough text to read. ";
  const links = Array.from(
    { length: 120 },
    (_, i) => `<li><a href="/m${i}">Menu entry number ${i} of many</a></li>`,
  ).join("");
  const page = (content: string) =>
    `<title>The title</title><body><div class="side"><ul>${links}</ul></div>${content}</body>`;
  const paragraphs = `<p>${sentence.repeat(5)}</p>`.repeat(6);

  it("believes a page that says where its content is", async () => {
    const article = await extractArticle(page(`<main><h1>Here</h1>${paragraphs}</main>`));
    assert.equal(article.title, "The title");
    assert.match(article.markdown, /^# Here\n\nThis sentence/);
    assert.doesNotMatch(article.markdown, /Menu entry/);
  });

  it("finds the article where the page does not say", async () => {
    const article = await extractArticle(page(`<div class="post">${paragraphs}</div>`));
    assert.match(article.markdown, /^This sentence/);
    assert.doesNotMatch(article.markdown, /Menu entry/);
  });

  it("gives the page when there is no article in it", async () => {
    const article = await extractArticle(page("<p>Only this.</p>"));
    assert.match(article.markdown, /Menu entry number 7[\s\S]*Only this\./);
  });

  it("gives the page in time when its markup is made to be slow", async () => {
    for (const piece of ["<!--", "<script>", "<main ", "<article", "<div><p>x", "<a href=x>y", "<svg "]) {
      const { markdown: text } = await extractArticle(`<p>Content stays.</p>${piece.repeat(50_000)}`, {
        deadlineMs: 500,
      });
      assert.match(text, /Content stays\./, piece);
    }
  });

  const pages = installedPages(testSize(14, 60));
  const skip = pages.length < 10 ? `only ${pages.length} documentation pages installed` : false;
  it("finds the content of installed documentation pages", { skip }, async (test) => {
    for (const [how, change, least] of [
      ["as they are", (html: string) => html, 0.85],
      ["without hints", withoutHints, 0.78],
    ] as const) {
      let [precision, recall, f1] = [0, 0, 0];
      for (const { html, reference } of pages) {
        const { markdown: found } = await extractArticle(change(html), { links: false });
        const overlap = wordOverlap(found, reference);
        precision += overlap.precision / pages.length;
        recall += overlap.recall / pages.length;
        f1 += overlap.f1 / pages.length;
      }
      const figures = `precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}, F1 ${f1.toFixed(3)}`;
      test.diagnostic(`${pages.length} pages ${how}: ${figures}`);
      assert.ok(f1 >= least, `${how}: ${figures}, expected F1 of at least ${least}`);
    }
  });
});
