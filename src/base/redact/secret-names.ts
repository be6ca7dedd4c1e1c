/** Names under which credentials go: of fields, headers, environment variables and parameters of an address. */

/** What stands in place of a secret. */
export const redactedText = "[redacted]";

const secret =
  /(?:^|[-_.])(?:(?:proxy-?)?authorization|(?:set-?)?cookies?|api-?key|apikey|(?:access|account|auth|master|private|secret|signing|subscription|encryption)-?key|token|secret|client-?secret|password|passwd|pwd|passphrase|credentials?|bearer|signature|sig|sas)$/;

/** Tokens that are words of a model or marks of a page, not credentials. */
const otherToken =
  /(?:^|[-_.])(?:pad|eos|bos|unk|sep|cls|mask|stop|special|start|end|image|audio|page|next|previous|continuation|sync|cursor|per|first|last|new|max|each)-?token$/;

/** Whether a field, header, variable or parameter of this name holds a credential. */
export function isSecretName(name: string): boolean {
  if (name.length > 200) return false;
  // accessToken, ACCESS_TOKEN and access-token are one name.
  const plain = name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll("_", "-");
  return secret.test(plain) && !otherToken.test(plain);
}
