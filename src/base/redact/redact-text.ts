/**
 * Secrets inside a text: keys with a known shape, passwords in addresses, and whatever is given to the name of a credential:
 * in an assignment, a parameter, a flag, an element or a header. It runs inside the user's own app on whatever passes
 * through, so it takes time linear in the text's length: every pattern is bounded.
 */
import { isSecretName, redactedText } from "./secret-names.ts";
import { redactShapes } from "./secret-shapes.ts";
import { redactCommands, redactTold } from "./told-secrets.ts";

/** A text without secrets. */
export function redactText(text: string): string {
  return redactTold(redactAssignments(redactCommands(redactAddresses(redactShapes(text)))));
}

// `scheme://user:password@host`; the user's name stays, it tells which account it was. `host:8080/x@y` is a port and a path.
const password = /(?<=:\/\/[^\s/?#@:"'<>\\]{0,128}:)(?!\d{1,5}(?:[/?#]|$))[^\s@"'<>\\]{1,256}(?=@)/g;
const tokenAsUser = /(?<=:\/\/)(?=[^@\d]{0,64}\d)[A-Za-z0-9_~.%-]{16,256}(?=@|:\[redacted\]@)/g;

function redactAddresses(text: string): string {
  return text.includes("://") ? text.replace(password, redactedText).replace(tokenAsUser, redactedText) : text;
}

// name=value, name: value, "name": "value", --name=value, environ["name"] = "value", also with escaped quotes and in addresses
// inside addresses. A name has a bound, so that a long run of letters is not looked at again from each of its letters.
const assignment =
  /((?:[?&]|%(?:3[Ff]|26|3[Bb]|23)|(?<![A-Za-z0-9_.-])[-_]{0,2})[A-Za-z](?:[A-Za-z0-9_.-]|%5[Ff]|%2[Dd]){1,80})(\\{0,3}["']?\]?\s{0,3}(?:[:=]|%3[Dd])\s{0,3}(\\{0,3}["'`])?)/g;
const assigned = /[^\s"'\\&,;#<>{}()[\]]{6,4096}/y;
/** A value in quotes may contain spaces; it ends with the quote it began with. */
const quoted: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\\r\n]|\\.){1,4096}/y,
  "'": /(?:[^'\\\r\n]|\\.){1,4096}/y,
  "`": /(?:[^`\\\r\n]|\\.){1,4096}/y,
};
const escapedQuoted = /(?:[^"'`\\\r\n]){1,4096}/y;
const header =
  /(?<![A-Za-z0-9_-])((?:set-)?cookie|(?:proxy-)?authorization)(["']?\s{0,3}:\s{0,3}["']?)((?:[^\r\n"'\\]|"[^"\r\n\\]{0,256}"){4,4096})/gi;
const element = /<([A-Za-z][A-Za-z0-9_.:-]{1,80})>([^<]{4,4096})(?=<\/)/g;
const namedValue = /(\b(?:key|name)=["'])([A-Za-z0-9_.:-]{2,80})(["']\s{1,4}value=(["']))[^"'<>]{1,4096}\4/gi;
// --token value, set -x SOME_API_KEY value, set some_api_key value
const given =
  /(?<!\S)(--[A-Za-z][A-Za-z0-9_.-]{1,80}|[A-Z][A-Z0-9_]{2,80}|[a-z][a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,5})([ \t]{1,4}["'`]?)([A-Za-z0-9_.~+/=][A-Za-z0-9_.~+/=-]{7,4096})/g;
// define('DB_PASSWORD', 'value'), setdefault("API_KEY", "value")
const listed =
  /((?<![\w"'])(["'])([A-Za-z][A-Za-z0-9_.-]{1,80})\2\s{0,3},\s{0,3}(["']))(?=[^"'\r\n]{0,200}\d)[^"'\r\n[]{8,4096}(?=\4)/g;
// password: >- with the value in the lines after it.
const block =
  /((?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9_.-]{1,80})(:[ \t]{0,3}[>|][-+]?[ \t]{0,3}\r?\n[ \t]{1,40})\S[^\r\n]{0,4096}/g;
// Pwd=two words; in a connection string.
const connection = /(;\s{0,3}(?:pwd|password)\s{0,3}=\s{0,3})[^;"'\r\n[]{1,256}(?=;|["'\r\n]|$)/gi;
const input = /<input\b[^<>]{0,1000}>/gi;

function redactAssignments(text: string): string {
  const clean = redactElements(text)
    .replace(given, (whole, name: string, between: string, value: string) =>
      isSecretName(name.replace(/^--/, "")) && (name.startsWith("--") || /\d/.test(value.slice(0, 200)))
        ? `${name}${between}${redactedText}`
        : whole,
    )
    .replace(block, (whole, name: string, between: string) =>
      isSecretName(name) ? `${name}${between}${redactedText}` : whole,
    )
    .replace(listed, (whole, before: string, _quote, name: string) =>
      isSecretName(name) ? `${before}${redactedText}` : whole,
    )
    .replace(connection, `$1${redactedText}`)
    .replace(header, (whole, name: string, between: string, value: string) =>
      value.includes(redactedText) ? whole : `${name}${between}${redactedText}`,
    );
  let result = "";
  let from = 0;
  assignment.lastIndex = 0;
  for (let match = assignment.exec(clean); match; match = assignment.exec(clean)) {
    const [, name = "", between = "", quote] = match;
    if (!isSecretParameter(name)) continue;
    // In prose "secret: gardens" is not an assignment; a name of several words, a quote, an equals sign or a value with digits is one.
    const plain = !(/["'`=]|%3d/i.test(between) || /[_-]/.test(name));
    if (plain && !/^[^\s"'\\&,;#<>{}()[\]]{0,64}?\d/.test(clean.slice(assignment.lastIndex, assignment.lastIndex + 65)))
      continue;
    const value = valueAt(clean, assignment.lastIndex, quote);
    // A word of a model stands under `token` too; it is short.
    if (value === undefined || value.length < (/token$/i.test(name) ? 6 : 4) || value.includes(redactedText)) continue;
    if (plain && !/\D/.test(value)) continue; // "token: 123456" counts
    result += clean.slice(from, assignment.lastIndex) + redactedText;
    from = assignment.lastIndex = assignment.lastIndex + value.length;
  }
  return from === 0 ? clean : result + clean.slice(from);
}

/** `<password>value</password>` and `<add key="ApiKey" value="value"/>`. */
function redactElements(text: string): string {
  if (!text.includes("<")) return text;
  return text
    .replace(element, (whole, name: string) =>
      isSecretName(name.slice(name.indexOf(":") + 1)) ? `<${name}>${redactedText}` : whole,
    )
    .replace(namedValue, (whole, before: string, name: string, between: string, quote: string) =>
      isSecretName(name) ? `${before}${name}${between}${redactedText}${quote}` : whole,
    )
    .replace(input, (tag) =>
      /type=["']?password/i.test(tag) ? tag.replace(/(\bvalue=)("[^"]*"|'[^']*')/i, `$1"${redactedText}"`) : tag,
    );
}

/** The value that begins here: up to its closing quote, or a word. */
function valueAt(text: string, at: number, quote: string | undefined): string | undefined {
  const pattern = quote === undefined ? assigned : (quoted[quote] ?? escapedQuoted);
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function isSecretParameter(written: string): boolean {
  const name = written.replace(/%5F|%2D/gi, "-");
  const plain = name.replace(/^(?:[?&]|%(?:3F|26|3B|23)|-+)/i, "");
  return (plain !== name && /^(?:key|code|auth|appid|sid|pass)$/i.test(plain)) || isSecretName(plain);
}
