/**
 * Secrets that a person told: after the word for a password in any of the usual languages, and after the flag of a command that
 * takes one. What stands between the word and the value differs by language; that a value has letters and digits does not.
 */
import { passwordWords, redactedText } from "./secret-names.ts";
import { isRandom } from "./secret-shapes.ts";

/** Programs that take a password after a short flag, and the flag. */
const flags: readonly (readonly [programs: string, flag: string])[] = [
  ["(?:mysql|mariadb)(?:dump|admin|import|-[a-z]{1,10})?", "-p"],
  ["sshpass|(?:docker|podman|helm registry|az|oc|cf|skopeo|buildah) login|mongo(?:sh|dump|restore|export|import)?|7za?|u?n?rar|cqlsh|influx|ncftp", "-p[ \\t]{0,4}"],
  ["redis-cli|keydb-cli|valkey-cli", "-a[ \\t]{0,4}"],
  ["ldap[a-z]{3,10}", "-w[ \\t]{0,4}"],
  ["sqlcmd|osql|isql|bcp|tsql|(?:un)?zip|mosquitto_(?:pub|sub)|vncviewer", "-P[ \\t]{0,4}"],
  ["smbclient|rpcclient|smbget|smbmap|net rpc", "-U[ \\t]{0,4}[^\\s%]{1,64}%"],
  ["xfreerdp|wlfreerdp|rdesktop", "[/-]p[: ]"],
  ["lftp", "-u[ \\t]{0,4}[^\\s,]{1,64},"],
  ["openssl", "(?:-k|-pass(?:in|out)?)[ \\t]{1,4}(?:pass:)?"],
  ["htpasswd", "-[A-Za-z]{0,4}b[A-Za-z]{0,4}[ \\t]{1,4}\\S{1,200}[ \\t]{1,4}\\S{1,64}[ \\t]{1,4}"],
  ["rclone obscure", ""],
  ["net use", "/user:\\S{1,64}[ \\t]{1,4}"],
]; // biome-ignore format: a table
const value = `(?:"[^"\\r\\n]{1,256}"|'[^'\\r\\n]{1,256}'|[^\\s"'[]{1,256})`;
const commands = flags.map(
  ([programs, flag]) =>
    new RegExp(
      `((?<![A-Za-z])(?:${programs})(?:[ \\t]{1,4}[^\\s|;&]{1,100}){0,10}?[ \\t]{1,4}${flag}["']?)${value}`,
      "g",
    ),
);
// A password that is set in SQL or on a machine, the words that restore a wallet, user:password after a flag, a log-in to a mail server, a number that proves who one is, user/password@host of Oracle, the line of .pgpass and the line of a cookie file.
const forms = [
  /(identified (?:with \S{1,64} )?by\s{1,4})["'][^"'\r\n]{1,256}["']/gi,
  /((?:echo|printf)[ \t]{1,4}["']?[\w.-]{1,64}:)[^\s"'|[]{1,256}(?=["']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo )?chpasswd)/g,
  /((?:seed|recovery|mnemonic|secret)(?: phrase| words?)?(?: is|:|=)\s{0,4}["']?)(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}/gi,
  /((?<!\S)(?:-u|--user|--proxy-user)[ =]["']?[^\s:"']{1,128}:)[^\s"'[]{1,256}/g,
  /((?::thin:|(?:sqlplus|rman|expdp|impdp)[ \t]{1,4})[^\s/@:]{1,64}\/)[^\s@/]{1,128}(?=@)/gi,
  /((?<![^\s])[\w.*-]{1,200}:\d{2,5}:[^\s:]{1,64}:[^\s:]{1,64}:)(?=[^\s:]{0,64}\d)[^\s:[]{6,128}(?![^\s])/g,
  /((?<![A-Za-z])AUTH (?:PLAIN|LOGIN|XOAUTH2)\s{1,4})[A-Za-z0-9+/]{8,4096}={0,2}/g,
  /((?<![A-Za-z])(?:PIN|TAN|OTP|CV[VC]2?|(?:[Vv]erification|[Ss]ecurity|[Oo]ne-time) code)(?: code| number)?(?: is|:|=)[ \t]{0,3})\d{3,12}(?![\d.,]\d)/g,
  /(\t(?:TRUE|FALSE)\t\/[^\t\r\n]{0,200}\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\r\n]{1,200}\t)[^\t\r\n[]{4,4096}/g,
];

/** A text without passwords that are given to programs. */
export function redactCommands(text: string): string {
  return [...commands, ...forms].reduce((clean, pattern) => clean.replace(pattern, `$1${redactedText}`), text);
}

const ends = "(?![A-Za-z0-9_-])";
const keyWords = "(?:api|access|secret|private|licen[cs]e|encryption|signing|master|shared)[ _-]?key|(?:access|api|auth|bearer|secret) token|client secret"; // biome-ignore format: one list
/** Three groups: words for a password, names of a key, and the bare word; without one, words that mean more than a secret. */
const told = new RegExp(
  `(?<![A-Za-z0-9_])(?:(${passwordWords}|(?:password|passphrase|passcode|pw|pwd|credentials?)${ends})\\p{L}{0,4}|(${keyWords})${ends}|(key)${ends}|(?:clé|chave|chiave|sleutel|schlüssel|ключ|密钥|金鑰)\\p{L}{0,3}|(?:token|secret)${ends})`,
  "giu",
);
const mostBetween = 3;
const window = 400;

/** A text without passwords and keys that are told in prose, in a table or in a list. */
export function redactTold(text: string): string {
  let result = "";
  let from = 0;
  told.lastIndex = 0;
  for (let match = told.exec(text); match; match = told.exec(text)) {
    const [, password, key, bare] = match;
    const isValue = (word: string): boolean =>
      (password !== undefined && isSecretWord(word, 6)) ||
      (key !== undefined && isSecretWord(word, 8)) ||
      isHexKey(word) ||
      (word.length >= (bare ? 32 : 24) && isRandom(word));
    const found = valueAfter(text, told.lastIndex, isValue);
    if (found === undefined) continue;
    result += text.slice(from, found.start) + redactedText;
    from = told.lastIndex = found.end;
  }
  return (from === 0 ? text : result + text.slice(from)).replace(toldAfter, redactedText);
}

/** "… and hunter2 as the password": the value before its word. */
const toldAfter =
  /(?<![^\s"'`(])(?=\S{0,64}\d)(?=\S{0,64}[A-Za-z])[^\s"'`[]{6,64}(?=["'`]?,? (?:as|is) (?:the|my|your|our|his|her|their) (?:new )?(?:password|passphrase|passcode|(?:api|secret|access) (?:key|token)))/gi;

/** Where the value stands that a word announces: the first that may be one, few words further on the same line. */
function valueAfter(text: string, at: number, isValue: (word: string) => boolean) {
  const line = /^[^\r\n]*/.exec(text.slice(at, at + window))![0];
  let between = 0;
  for (const { 0: run, index } of line.matchAll(/[A-Za-z0-9!#$%&*+./:=?@^_~-]+/g)) {
    const lead = /^[=:*]*/.exec(run)![0].length;
    const word = run.slice(lead).replace(/[.,:;!?*]+$/, "");
    if (isValue(word)) return { start: at + index + lead, end: at + index + lead + word.length };
    if (word === "redacted" || word.length > 12 || /[.!?]$/.test(run) || ++between > mostBetween || index > 60)
      return undefined;
  }
  return undefined;
}

/** A password has letters and digits; a version, a number with its unit, a name of a standard and an address have both too. */
function isSecretWord(word: string, least: number): boolean {
  return /\d/.test(word) && /[A-Za-z]/.test(word) && word.length >= least && !/^v?\d+(?:\.\d+)+|:\/\/|\/.*\/|^\d+[A-Za-z]{1,12}$|^(?:sha|md|base|utf|aes|rsa|oauth|socks|pkcs|http|ipv)-?\d+/i.test(word); // biome-ignore format: one question
}

const isHexKey = (word: string): boolean => /^(?=[a-f]*\d)[0-9a-f]{24,128}$/i.test(word);
