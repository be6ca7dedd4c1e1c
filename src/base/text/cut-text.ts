/** Whether a text was cut off on its way, by the marks and lengths that exporters and recorders leave. */

/** Marks that exporters and back-ends leave where they cut a text. */
const cutMarks = [
  /(?:\.\.\.|…)\s*[[(<]?\s*(?:truncated|cut off|output truncated|content truncated)\b[^\n]{0,40}$/i,
  /[[(<]\s*(?:truncated|output truncated|content truncated)[^\n]{0,40}[\])>]?\s*$/i,
  /\b\d+ (?:more )?(?:bytes|chars|characters) (?:truncated|omitted)\b/i,
];

/** Lengths at which exporters are set to cut: a text of exactly such a length may be cut. */
const limits = new Set([
  128, 256, 512, 1000, 1024, 2000, 2048, 4095, 4096, 8191, 8192, 10_000, 16_384, 32_767, 32_768, 65_535, 65_536,
]);

/** Why a text looks cut off; nothing where it does not. */
export function cutText(text: string, isJson = false): string | undefined {
  const end = text.slice(-300);
  if (cutMarks.some((mark) => mark.test(end))) return `ends with a cut mark: ${end.slice(-40).trim()}`;
  if (isJson && text.trim() !== "") {
    try {
      JSON.parse(text);
    } catch {
      return limits.has(text.length) || limits.has(Buffer.byteLength(text))
        ? `JSON cut at ${text.length} characters`
        : "JSON that does not end";
    }
  }
  return undefined;
}
