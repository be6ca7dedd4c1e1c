import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deflateSync } from "node:zlib";
import { extractPage } from "./extract-page.ts";

/** A PDF of one page whose content is this stream. */
function pdfOf(content: Buffer): Uint8Array {
  const packed = deflateSync(content);
  const objects = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
    Buffer.from(
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    ),
    Buffer.concat([
      Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
      packed,
      Buffer.from("\nendstream"),
    ]),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
  ];
  const parts = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  for (const [index, body] of objects.entries()) {
    offsets.push(parts.reduce((sum, part) => sum + part.length, 0));
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), body, Buffer.from("\nendobj\n"));
  }
  const start = parts.reduce((sum, part) => sum + part.length, 0);
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(
    Buffer.from(
      `xref\n0 6\n0000000000 65535 f \n${table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF`,
    ),
  );
  return new Uint8Array(Buffer.concat(parts));
}

const page = (body: Uint8Array) => ({
  url: "https://a.example/x.pdf",
  status: 200,
  contentType: "application/pdf",
  body,
  truncated: false,
});

describe("extractPage on PDF files", () => {
  it("reads a small one", async () => {
    const { text } = await extractPage(page(pdfOf(Buffer.from("BT /F1 12 Tf 20 100 Td (Hello there) Tj ET"))));
    assert.match(text, /Hello there/);
  });

  it("gives up on one that unpacks to hundreds of megabytes, and reads the next", async () => {
    const bomb = pdfOf(Buffer.alloc(400_000_000, "BT /F1 9 Tf (aaaaaaaa) Tj ET "));
    assert.ok(bomb.length < 4_000_000, `${bomb.length} bytes`);
    const before = process.memoryUsage.rss();
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss() - before)), 20);
    await assert.rejects(extractPage(page(bomb)), /can't be read/).finally(() => clearInterval(watch));
    assert.ok(peak < 900 * 2 ** 20, `${Math.round(peak / 2 ** 20)} MB at its peak`);
    const { text } = await extractPage(page(pdfOf(Buffer.from("BT /F1 12 Tf 20 100 Td (After) Tj ET"))));
    assert.match(text, /After/);
  });
});
