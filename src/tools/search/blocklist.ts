/**
 * Pages that must not be found or read, so that a benchmark's answers can't be looked up. An entry is a domain (with its
 * subdomains), a domain with the start of a path, or a word in `*…*` anywhere in the address. Addresses that carry a
 * blocked address inside (archives, readers, translators) are blocked too.
 */
export interface Blocklist {
  readonly entries: readonly string[];
  /** Why an address is blocked, or undefined. */
  refusal(url: string): string | undefined;
}

/** Reads a blocklist; lines starting with `#` are comments. */
export function blocklist(entries: Iterable<string>): Blocklist {
  const list = [...entries].map((entry) => entry.trim()).filter((entry) => entry !== "" && !entry.startsWith("#"));
  const rules = list.map((entry) => ({ entry, matches: matcher(entry) }));
  return {
    entries: list,
    refusal(address) {
      for (const url of [address, ...embedded(address)]) {
        const rule = rules.find(({ matches }) => matches(url));
        if (rule) return `blocked by the rule "${rule.entry}"`;
      }
      return undefined;
    },
  };
}

/** Pages that hold questions and answers of the benchmarks we measure with. */
export const benchmarkBlocklist: readonly string[] = [
  "huggingface.co/datasets",
  "huggingface.co/spaces",
  "datasets-server.huggingface.co",
  "hf.co/datasets",
  "hf-mirror.com/datasets",
  "kaggle.com/datasets",
  "*gaia-benchmark*",
  "*browsecomp*",
  "*webwalkerqa*",
  "lastexam.ai",
  "agi.safe.ai",
];

function matcher(entry: string): (url: string) => boolean {
  const wildcard = /^\*(.+)\*$/.exec(entry)?.[1]?.toLowerCase();
  if (wildcard) return (url) => url.toLowerCase().includes(wildcard);
  const rule = URL.parse(entry.includes("://") ? entry : `https://${entry}`);
  if (!rule) return () => false;
  const host = bare(rule.hostname);
  const path = decoded(rule.pathname + rule.search)
    .replace(/\/$/, "")
    .toLowerCase();
  return (address) => {
    const url = URL.parse(address);
    if (!url) return false;
    const name = bare(url.hostname);
    if (name !== host && !name.endsWith(`.${host}`)) return false;
    const rest = decoded(url.pathname + url.search).toLowerCase();
    return path === "" || rest === path || (rest.startsWith(path) && /^[/?#]/.test(rest.slice(path.length)));
  };
}

function bare(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^www\./, "")
    .replace(/\.$/, "");
}

/** Undoes percent-encoding twice at most; some readers encode the address they are given. */
function decoded(text: string): string {
  let result = text;
  for (let round = 0; round < 2; round++) {
    try {
      result = decodeURIComponent(result);
    } catch {
      return result;
    }
  }
  return result.replace(/\/{2,}/g, "/");
}

/** Addresses inside an address's path or query, with or without their scheme. */
function embedded(address: string): string[] {
  const url = URL.parse(address);
  if (!url) return [];
  let rest = url.pathname + url.search + url.hash;
  for (let round = 0; round < 2; round++) {
    try {
      rest = decodeURIComponent(rest);
    } catch {
      break;
    }
  }
  const found = [...rest.matchAll(/https?:\/{1,2}([^\s]+)/gi)].map(([, inside]) => `https://${inside}`);
  const bareNames = [...rest.matchAll(/(?<=[/=])((?:[a-z0-9-]+\.)+[a-z]{2,}(?:\/[^\s&]*)?)/gi)].map(
    ([, name]) => `https://${name}`,
  );
  return [...found, ...bareNames];
}
