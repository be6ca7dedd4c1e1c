/**
 * Which IP addresses belong to the public internet. Everything that is not plainly public is refused: private,
 * loopback, link-local (cloud metadata services are there), shared, reserved, documentation and multicast ranges, and
 * IPv6 forms that carry such an IPv4 address inside.
 */
import { isIP } from "node:net";

/** IPv4 ranges that are not public, as [first address, prefix length]. */
const privateRanges: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, metadata services
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Public IPv4 addresses that clouds use for metadata and agents inside a machine. */
const metadataAddresses = new Set(["168.63.129.16", "100.100.100.200"]);

/** Whether an address, written the usual way, is one of the public internet. Anything unreadable is not. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "");
  const version = isIP(plain);
  if (version === 4) return isPublicV4(v4Bytes(plain));
  // A zone ("fe80::1%eth0") only exists on local links.
  if (version === 6 && !plain.includes("%")) return isPublicV6(v6Words(plain));
  return false;
}

function v4Bytes(address: string): number[] {
  return address.split(".").map(Number);
}

function isPublicV4(bytes: number[]): boolean {
  const value = toNumber(bytes);
  if (metadataAddresses.has(bytes.join("."))) return false;
  return !privateRanges.some(([first, prefix]) => {
    const size = 2 ** (32 - prefix);
    const start = toNumber(v4Bytes(first));
    return value >= start && value < start + size;
  });
}

function toNumber(bytes: number[]): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** The eight 16-bit words of an IPv6 address. */
function v6Words(address: string): number[] {
  let text = address;
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (dotted) {
    const [a, b, c, d] = v4Bytes(dotted[1]!) as [number, number, number, number];
    text = `${text.slice(0, dotted.index)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  }
  const [head = "", tail] = text.split("::");
  const words = (part: string) => (part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16)));
  const before = words(head);
  const after = tail === undefined ? [] : words(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function isPublicV6(words: number[]): boolean {
  const [first, second, third] = words as [number, number, number];
  const embedded = (at: number) => {
    const [high, low] = [words[at]!, words[at + 1]!];
    return isPublicV4([high >> 8, high & 255, low >> 8, low & 255]);
  };
  // NAT64: the IPv4 address behind it is what is reached. Its local-use prefix (64:ff9b:1::/48) is not public.
  if (first === 0x64 && second === 0xff9b && third === 0) return embedded(6);
  // Only 2000::/3 is handed out; mapped (::ffff:a.b.c.d), unique local, link-local and multicast lie outside it.
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2002) return embedded(1); // 6to4
  if (first === 0x2001 && second < 0x200) return false; // Teredo, benchmarking, ORCHID
  if (first === 0x2001 && second === 0xdb8) return false; // documentation
  return !(first === 0x3fff && second < 0x1000); // documentation
}
