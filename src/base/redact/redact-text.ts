/**
 * Secrets inside a text: keys with a known shape, passwords in addresses, parameters and assignments with the name of a
 * credential. It runs inside the user's own app on whatever passes through, so it takes time linear in the text's length:
 * every pattern is bounded, and what has no bound is measured once and remembered.
 */
import { isSecretName, redactedText } from "./secret-names.ts";

/** How a key begins, and how many characters at least follow. */
const keyStarts: readonly (readonly [start: string, least: number])[] = [
  ["sk-", 16], ["sk_live_", 10], ["sk_test_", 10], ["rk_live_", 10], ["rk_test_", 10], ["pk_live_", 10], ["whsec_", 16], ["gsk_", 16], ["xai-", 16],
  ["tvly-", 12], ["pplx-", 16], ["glpat-", 12], ["npm_", 20], ["pypi-", 20], ["ghp_", 20], ["gho_", 20], ["ghu_", 20],
  ["ghs_", 20], ["ghr_", 20], ["github_pat_", 20], ["xoxa-", 10], ["xoxb-", 10], ["xoxp-", 10], ["xoxr-", 10], ["xoxs-", 10],
  ["xapp-", 10], ["AKIA", 16], ["ASIA", 16], ["AIza", 30], ["ya29.", 20], ["hf_", 20], ["lsv2_", 20], ["r8_", 20], ["nvapi-", 20],
  ["dop_v1_", 20], ["SG.", 20], ["shpat_", 16], ["sq0", 20], ["fw_", 20], ["dapi", 30], ["csk-", 16], ["jina_", 20], ["fc-", 24],
]; // biome-ignore format: a table

const escaped = (text: string): string => text.replace(/[.+*?^$|()[\]{}\\-]/g, "\\$&");
const least = new Map(keyStarts);
const shapes = new RegExp(
  `(?<![A-Za-z0-9])(?:${keyStarts.map(([start]) => escaped(start)).join("|")}|eyJ)|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----|\\b(?:Bearer|Basic)\\s{1,4}(?=[A-Za-z0-9._~+/=-]{12})`,
  "g",
);

/** A text without secrets. */
export function redactText(text: string): string {
  return redactAssignments(redactShapes(text).replace(password, redactedText));
}

// `scheme://user:password@host`; the user's name stays, it tells which account it was.
const password = /(?<=:\/\/[^\s/?#@:"'<>\\]{0,128}:)[^\s/?#@"'<>\\]{1,256}(?=@)/g;

function redactShapes(text: string): string {
  let result = "";
  let from = 0;
  const run = runs(text);
  shapes.lastIndex = 0;
  for (let match = shapes.exec(text); match; match = shapes.exec(text)) {
    const [start] = match;
    const begin = match.index + start.length;
    const end = secretEnd(text, start, begin, run);
    if (end === undefined) continue;
    const keep = /^(?:Bearer|Basic)/.exec(start) ? `${start.trim()} ` : "";
    result += `${text.slice(from, match.index)}${keep}${redactedText}`;
    from = end;
    shapes.lastIndex = end;
  }
  return from === 0 ? text : result + text.slice(from);
}

type Runs = ReturnType<typeof runs>;

/** Where a secret that starts like this ends; undefined where it is none. */
function secretEnd(text: string, start: string, begin: number, run: Runs): number | undefined {
  if (start.startsWith("-----BEGIN")) {
    const end = run.privateKeyEnd(begin);
    if (end !== undefined) return end;
    // The end was cut off: what looks like a key follows.
    const body = /(?:\\[nr]|\s|[A-Za-z0-9+/=]{20,})*/y;
    body.lastIndex = begin;
    body.exec(text);
    return body.lastIndex > begin + 20 ? body.lastIndex : undefined;
  }
  if (/^B(?:earer|asic)/.test(start)) return run.wide(begin);
  const end = run.narrow(begin);
  if (start !== "eyJ") return end - begin >= (least.get(start) ?? 16) ? end : undefined;
  if (end - begin < 8 || text[end] !== ".") return undefined;
  const second = run.narrow(end + 1);
  if (second - end < 10 || text[second] !== ".") return undefined;
  return run.narrow(second + 1);
}

/** Ends of runs of characters, each run measured once however many keys seem to begin in it. */
function runs(text: string) {
  const measure = (allowed: (code: number) => boolean) => {
    let known = { start: 0, end: 0 };
    return (from: number): number => {
      if (from >= known.start && from < known.end) return known.end;
      let end = from;
      while (end < text.length && allowed(text.charCodeAt(end))) end++;
      known = { start: from, end };
      return end;
    };
  };
  const isWord = (code: number): boolean =>
    (code >= 48 && code <= 57) ||
    (code >= 65 && code <= 90) ||
    (code >= 97 && code <= 122) ||
    code === 95 ||
    code === 45;
  let noEndAfter = Number.POSITIVE_INFINITY;
  return {
    narrow: measure(isWord),
    wide: measure((code) => isWord(code) || ".~+/=".includes(String.fromCharCode(code))),
    privateKeyEnd(from: number): number | undefined {
      if (from >= noEndAfter) return undefined;
      const end = /-----END [A-Z ]{0,30}PRIVATE KEY-----/g;
      end.lastIndex = from;
      if (end.exec(text)) return end.lastIndex;
      noEndAfter = from;
      return undefined;
    },
  };
}

// name=value, name: value, "name": "value", also with escaped quotes. A name has a bound, so that a long run of letters is
// not looked at again from each of its letters.
const assignment =
  /((?:[?&]|(?<![A-Za-z0-9_.-]))[A-Za-z][A-Za-z0-9_.-]{1,80})(\\{0,3}["']?\s{0,3}[:=]\s{0,3}(?:\\{0,3}["'])?)/g;
const assigned = /[^\s"'\\&,;#<>{}()[\]]{6,4096}/y;
const header =
  /(?<![A-Za-z0-9_-])((?:set-)?cookie|(?:proxy-)?authorization)(["']?\s{0,3}:\s{0,3}["']?)([^\r\n"'\\]{4,4096})/gi;

function redactAssignments(text: string): string {
  if (!/[:=]/.test(text)) return text;
  const clean = text.replace(header, (whole, name: string, between: string, value: string) =>
    value.includes(redactedText) ? whole : `${name}${between}${redactedText}`,
  );
  let result = "";
  let from = 0;
  assignment.lastIndex = 0;
  for (let match = assignment.exec(clean); match; match = assignment.exec(clean)) {
    const [, name = "", between = ""] = match;
    if (!isSecretParameter(name)) continue;
    assigned.lastIndex = assignment.lastIndex;
    const value = assigned.exec(clean)?.[0];
    // In prose "secret: gardens" is not an assignment; a quoted name, an equals sign or a value with digits is one.
    if (value === undefined || !(/["'=]/.test(between) || /\d\D|\D\d/.test(value))) continue;
    result += clean.slice(from, assignment.lastIndex) + redactedText;
    from = assignment.lastIndex = assigned.lastIndex;
  }
  return from === 0 ? clean : result + clean.slice(from);
}

function isSecretParameter(name: string): boolean {
  return /^[?&](?:key|code|auth)$/i.test(name) || isSecretName(name.replace(/^[?&]/, ""));
}
