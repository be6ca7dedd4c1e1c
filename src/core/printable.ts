/**
 * Text as a terminal may show it. What models, tools, recordings, servers and file names say can hold control characters
 * that set the clipboard or the title, clear the screen or overwrite a line: they are shown as `\u001b`, never sent.
 */
// The colours of `Output.style`, which change nothing but the look of what follows.
const colour = String.raw`\u001b\[(?:[123]|2[23]|3[1-79]|9[0-7])m`;
const control = String.raw`(?:(?!\r\n)[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069])`;
const controls = new RegExp(control, "g");
const controlsOrColours = new RegExp(`${colour}|${control}`, "g");

/** The text with every control character but line breaks and tabs (and colours, where they are ours) as its code. */
export function printable(text: string, coloured = false): string {
  return text.replace(coloured ? controlsOrColours : controls, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
