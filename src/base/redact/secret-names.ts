/** Names of credentials: of fields, headers, environment variables and parameters of an address. */

export const redactedText = "[redacted]";

/** A password in the languages that texts are written in. Ends of words are left open where languages bend them. */
export const passwordWords =
  "pass?wort|kennwort|losung|mot de passe|code d'accès|contraseña|contrasena|clave|senha|palavra-passe|parola(?: d'ordine)?|wachtwoord|lösenord|adgangskode|kodeord|passord|salasana|hasło|heslo|jelszó|lozink|geslo|şifre|κωδικός|парол|mật khẩu|kata sandi|كلمة (?:المرور|السر)|סיסמה|पासवर्ड|รหัสผ่าน|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호";

const secret =
  /(?:^|[-_.:])(?:(?:proxy-?)?authorization|auth-?header|basic-?auth|(?:set-?)?cookies?|api-?keys?|apikeys?|(?:access|account|admin|app|application|auth|client|consumer|encryption|functions|hmac|host|identity|licen[cs]e|master|private|secret|service|session|shared|shared-access|signing|ssh|storage|subscription|webhook|openai|anthropic|claude|gemini|google|azure|mistral|groq|cohere|deepseek|openrouter|together|fireworks|perplexity|tavily|serper|serpapi|brave|exa|jina|firecrawl|huggingface|replicate|langsmith|stripe|github|gitlab|aws)-?keys?(?:-data)?|(?<=^-)auth|secret-?access-?key|token|jwt|secrets?|client-?secret|pass|password|passwd|passcode|pwd|passphrase|credentials?|bearer|signature|sig|sas|otp|pin-?code)$/;

/** PGPASSWORD has no mark between its words. */
const password = new RegExp(`(?:password|passwd|passphrase)s?$|^(?:${passwordWords.replace(/[ -]/g, "-?")})$`, "u");

/** A variable of the environment that ends in KEY is a key, but for these. */
const otherKey =
  /^(?:PUBLIC|PRIMARY|FOREIGN|UNIQUE|SORT|PARTITION|CACHE|INDEX|HASH|GROUP|SEARCH|ROUTING|IDEMPOTENCY|.*_(?:PUBLIC|PRIMARY|FOREIGN|CACHE|SORT|PARTITION|PUBLISHABLE))_KEY$/;

/** Tokens that are words of a model or marks of a page, not credentials. */
const otherToken =
  /(?:^|[-_.])(?:pad|eos|bos|unk|sep|cls|mask|stop|special|start|end|image|audio|page|next|previous|continuation|sync|cursor|per|first|last|new|max|each)-?token$/;

/** Whether a field, header, variable or parameter of this name holds a credential. */
export function isSecretName(name: string): boolean {
  if (name.length > 200) return false;
  if (/^[A-Z][A-Z0-9_]{0,80}_(?:KEY|PAT|PASS)$/.test(name)) return !otherKey.test(name);
  // accessToken, ACCESS_TOKEN and access-token are one name.
  const plain = name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll("_", "-");
  return (secret.test(plain) || password.test(plain)) && !otherToken.test(plain);
}
