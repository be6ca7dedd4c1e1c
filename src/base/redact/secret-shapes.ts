/**
 * Keys that are known by their shape, whatever is around them. Every pattern is bounded, and a run of characters is
 * measured once however many keys seem to begin in it, so the time stays linear in the text's length.
 */
import { redactedText } from "./secret-names.ts";

/** How a key begins, and how many characters at least follow. */
const keyStarts: readonly (readonly [start: string, least: number])[] = [
  ["sk-", 16], ["sk_live_", 10], ["sk_test_", 10], ["rk_live_", 10], ["rk_test_", 10], ["pk_live_", 10], ["whsec_", 16], ["gsk_", 16], ["xai-", 16],
  ["tvly-", 12], ["pplx-", 16], ["npm_", 20], ["pypi-", 20], ["ghp_", 20], ["gho_", 20], ["ghu_", 20],
  ["ghs_", 20], ["ghr_", 20], ["github_pat_", 20], ["xoxa-", 10], ["xoxb-", 10], ["xoxp-", 10], ["xoxr-", 10], ["xoxs-", 10], ["xoxe-", 10], ["xoxc-", 10], ["xoxd-", 10], ["pcsk_", 20], ["sk_", 40],
  ["xapp-", 10], ["AKIA", 16], ["ASIA", 16], ["ABIA", 16], ["AIza", 30], ["ya29.", 20], ["GOCSPX-", 20], ["1//0", 30], ["hf_", 20], ["api_org_", 20],
  ["lsv2_", 20], ["r8_", 20], ["nvapi-", 20], ["dop_v1_", 20], ["doo_v1_", 20], ["dor_v1_", 20], ["SG.", 20], ["shpat_", 16], ["shpss_", 16], ["sq0", 20],
  ["fw_", 20], ["dapi", 30], ["csk-", 16], ["jina_", 20], ["fc-", 24], ["e2b_", 20], ["pa-", 36], ["esecret_", 16], ["pk-lf-", 20], ["BSA", 24],
  ["glpat-", 12], ["gldt-", 12], ["glrt-", 12], ["glptt-", 12], ["glft-", 12], ["glsoat-", 12], ["glcbt-", 12], ["glimt-", 12], ["glagent-", 12],
  ["lin_api_", 20], ["lin_oauth_", 20], ["secret_", 36], ["ntn_", 20], ["figd_", 20], ["figo_", 20], ["sbp_", 20], ["sb_secret_", 16], ["vercel_", 20], ["pscale_", 20],
  ["dp.pt.", 20], ["dp.st.", 20], ["hvs.", 20], ["hvb.", 20], ["hvr.", 20], ["sntrys_", 20], ["sntryu_", 20], ["phc_", 20], ["phx_", 20],
  ["rnd_", 20], ["railway_", 20], ["fly_", 30], ["FlyV1", 30], ["AGE-SECRET-KEY-", 20], ["atlasv1.", 20], ["ATATT3", 20], ["ATCTT3", 20], ["dckr_pat_", 16],
  ["rubygems_", 20], ["CFPAT-", 20], ["PMAK-", 20], ["NRAK-", 20], ["glsa_", 20], ["glc_", 30], ["cohere_", 20], ["ls__", 20], ["apify_api_", 16], ["sl.", 60],
  ["sess-", 20], ["shpca_", 16], ["shppa_", 16], ["shptka_", 16], ["EAAA", 50], ["EAAC", 50], ["HRKU-AA", 20], ["pul-", 36], ["tfp_", 30], ["cf-", 36], ["ops_eyJ", 40],
]; // biome-ignore format: a table

/** Keys of a fixed length, and addresses that are themselves a key (web hooks). */
const whole = [
  "(?:SK|key-)[0-9a-f]{32}(?![0-9A-Za-z])",
  "[0-9a-f]{32}-us\\d{1,2}(?!\\d)",
  "\\d{8,10}:AA[A-Za-z0-9_-]{30,40}",
  "[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",
  "pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}",
  "dp\\.(?:st|ct|pt|sa|scim|audit)\\.(?:[a-z0-9_-]{1,40}\\.)?[A-Za-z0-9]{40,60}",
  "access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
  "[A-Za-z0-9_.-]{3}\\dQ~[A-Za-z0-9_.~-]{31,34}",
  "[01]/\\d{10,20}:[0-9a-f]{32}",
  // Private keys without their first line, as DER and as OpenSSH writes them.
  "(?:MII[A-Za-z0-9+/]{3}IBA[AD]|MIG[A-Za-z0-9]AgEA|MHcCAQEE|MC4CAQAw|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=]{24,20000}(?:(?:\\s|\\\\[nr]){1,4}[A-Za-z0-9+/=]{16,128}){0,200}",
];
// A password as it is stored: bcrypt, crypt, argon2, scrypt, PHPass.
const storedPassword =
  /\$(?:2[abxy]?|[1567yPHS]|gy|apr1|md5|argon2(?:id|i|d)|s?crypt|pbkdf2[\w-]{0,20})\$[./A-Za-z0-9+=,$-]{16,400}/g;
const puttyKey = /(Private-Lines: \d{1,4}\r?\n)(?:[A-Za-z0-9+/=]{4,128}\r?\n){1,200}(Private-MAC: )[0-9a-f]{16,128}/g;
const hooks =
  /(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/\d{1,30}\/|api\.telegram\.org\/bot|webhook\.office\.com\/webhookb2\/)[A-Za-z0-9_:@/-]{10,400}/g;

/** 30, 32 or 64 random bytes in base64, the usual lengths of keys; not the last line of a longer text, nor a digest (`sha512-`). */
const bareKey =
  /(?<![A-Za-z0-9+/=_.-]|[A-Za-z0-9+/]{20}(?:\r?\n|\\n))(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{43}=|[A-Za-z0-9_-]{43}|[A-Za-z0-9+/]{86}==|[A-Za-z0-9_-]{86})(?![A-Za-z0-9+/=_.-])/g;

/** Words and paths have long runs of small letters, and a number written in hexadecimal has no capitals. */
export function isRandom(text: string): boolean {
  const count = (kind: RegExp): number => text.match(kind)?.length ?? 0;
  return count(/[A-Z]/g) > 4 && count(/[a-z]/g) > 4 && count(/\d/g) > 1 && !/[a-z]{7}|[A-Z]{7}/.test(text);
}

const escaped = (text: string): string => text.replace(/[.+*?^$|()[\]{}\\-]/g, "\\$&");
const least = new Map(keyStarts);
const privateKey = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----";
const shapes = new RegExp(
  `(?<![A-Za-z0-9])(?:(${whole.join("|")})|${keyStarts.map(([start]) => escaped(start)).join("|")}|eyJ)|-----BEGIN ${privateKey}|\\b(?:[Bb]earer|BEARER|[Bb]asic|ApiKey|Negotiate|NTLM|SSWS|GenieKey|Splunk|DPoP)\\s{1,4}(?=[A-Za-z0-9._~+/=-]{12})`,
  "g",
);

/** The text without keys of a known shape. */
export function redactShapes(text: string): string {
  let result = "";
  let from = 0;
  const run = runs(text);
  shapes.lastIndex = 0;
  for (let match = shapes.exec(text); match; match = shapes.exec(text)) {
    const [start, fixed] = match;
    const begin = match.index + start.length;
    const end = fixed === undefined ? secretEnd(text, start, begin, run) : begin;
    if (end === undefined) continue;
    const keep = isScheme(start) ? `${start.trim()} ` : "";
    result += `${text.slice(from, match.index)}${keep}${redactedText}`;
    from = end;
    shapes.lastIndex = end;
  }
  const clean = from === 0 ? text : result + text.slice(from);
  return clean
    .replace(hooks, `$1${redactedText}`)
    .replace(storedPassword, redactedText)
    .replace(puttyKey, `$1${redactedText}\n$2${redactedText}`)
    .replace(bareKey, (key) => (isRandom(key) ? redactedText : key));
}

const isScheme = (start: string): boolean => /^[A-Za-z]{4,9}\s/.test(start);

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
  if (isScheme(start)) {
    const end = run.wide(begin);
    // "bearer transportation": in prose it is written small, and a word has neither digits nor capitals.
    return /^B/.test(start) || /[A-Z\d]/.test(text.slice(begin, Math.min(end, begin + 200))) ? end : undefined;
  }
  const end = run.narrow(begin);
  if (start !== "eyJ") return end - begin >= (least.get(start) ?? 16) ? furtherParts(text, end, run) : undefined;
  if (end - begin < 8 || text[end] !== ".") return undefined;
  const second = run.narrow(end + 1);
  if (second - end < 10 || text[second] !== ".") return undefined;
  return furtherParts(text, run.narrow(second + 1), run);
}

/** The end of a key of several parts with points between them; a word after a full stop is none. */
function furtherParts(text: string, from: number, run: Runs): number {
  let end = from;
  for (let parts = 0; parts < 3 && text[end] === "."; parts++) {
    const next = run.narrow(end + 1);
    if (next - end < 12 || !/\d|[a-z][A-Z]/.test(text.slice(end, end + 100))) break;
    end = next;
  }
  return end;
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
      const end = new RegExp(`-----END ${privateKey}`, "g");
      end.lastIndex = from;
      if (end.exec(text)) return end.lastIndex;
      noEndAfter = from;
      return undefined;
    },
  };
}
