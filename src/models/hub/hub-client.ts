/**
 * Reads a hub in Hugging Face's layout: what a repository holds at a revision, and its files. The token is sent to the
 * hub only: a redirect to another host is followed without it, and never from https to http.
 */
import { CoaError, messageOf, UsageError } from "../../core/errors.ts";
import { asArray, asNumber, asObject, asString } from "../../core/json-value.ts";

/** A file of a repository. Large ones are known by SHA-256, small ones by git's SHA-1 of the blob. */
export interface HubFile {
  path: string;
  size: number;
  sha256?: string;
  blobId?: string;
}

/** A repository at one revision. */
export interface HubModel {
  name: string;
  /** The commit. */
  revision: string;
  license: string | null;
  files: HubFile[];
}

export interface HubOptions {
  /** `https://huggingface.co` unless told. */
  endpoint?: string;
  token?: string;
  signal?: AbortSignal;
}

const publicHub = "https://huggingface.co";
const mostRedirects = 5;

/** The hub of the options, without a slash at its end. */
export function hubEndpoint({ endpoint = publicHub }: HubOptions): string {
  return endpoint.replace(/\/+$/, "");
}

/** What a repository holds at a revision. */
export async function hubModel(name: string, revision: string, options: HubOptions): Promise<HubModel> {
  const address = `${hubEndpoint(options)}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await fetchFrom(address, options);
  if (!response.ok) throw await refusal(response, name, revision, options);
  const body = asObject(await response.json()) ?? {};
  const sha = asString(body["sha"]);
  if (!sha || !/^[0-9a-f]{7,64}$/.test(sha))
    throw new CoaError("network", `${address} does not say which commit it is`);
  const files = asArray(body["siblings"]).flatMap((item): HubFile[] => {
    const one = asObject(item) ?? {};
    const lfs = asObject(one["lfs"]);
    const path = asString(one["rfilename"]);
    const size = asNumber(lfs?.["size"]) ?? asNumber(one["size"]);
    if (path === undefined || size === undefined) return [];
    const sha256 = asString(lfs?.["sha256"]) ?? asString(lfs?.["oid"]);
    const blobId = asString(one["blobId"]);
    return [{ path, size, ...(sha256 && { sha256 }), ...(!sha256 && blobId && { blobId }) }];
  });
  return { name, revision: sha, license: licenseOf(body), files };
}

function licenseOf(body: Record<string, unknown>): string | null {
  const card = asString(asObject(body["cardData"])?.["license"]);
  const tag = asArray(body["tags"]).find((one) => typeof one === "string" && one.startsWith("license:"));
  return card ?? (tag as string | undefined)?.slice("license:".length) ?? null;
}

/** A file from a byte on; the answer may begin at the first byte all the same, where its status is 200. */
export async function hubFile(model: HubModel, file: HubFile, from: number, options: HubOptions): Promise<Response> {
  const address = `${hubEndpoint(options)}/${model.name}/resolve/${model.revision}/${encodeURIComponent(file.path)}`;
  const response = await fetchFrom(address, options, from > 0 ? { range: `bytes=${from}-` } : {});
  if (response.status === 200 || response.status === 206) return response;
  throw await refusal(response, model.name, model.revision, options);
}

/** Follows redirects by hand, because the token must not follow them to another host. */
async function fetchFrom(
  address: string,
  options: HubOptions,
  headers: Record<string, string> = {},
): Promise<Response> {
  const home = new URL(hubEndpoint(options)).origin;
  let url = new URL(address);
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const mine = options.token !== undefined && url.origin === home;
    const response = await fetch(url, {
      headers: { ...headers, "accept-encoding": "identity", ...(mine && { authorization: `Bearer ${options.token}` }) },
      redirect: "manual",
      signal: options.signal,
    }).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      const why = messageOf((error as { cause?: unknown }).cause ?? error);
      throw new CoaError("network", `${url.origin} can't be reached: ${why}. For another hub set HF_ENDPOINT`, {
        retryable: true,
        cause: error,
      });
    });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol !== "https:")
      throw new CoaError("network", `${url.origin} sends us to ${next.origin}, without https: not followed`);
    url = next;
  }
  throw new CoaError("network", `${address} redirects more than ${mostRedirects} times`);
}

async function refusal(response: Response, name: string, revision: string, options: HubOptions): Promise<CoaError> {
  await response.body?.cancel();
  const hub = hubEndpoint(options);
  const { status } = response;
  if (status === 401 || status === 403) {
    const token = options.token === undefined ? "set HF_TOKEN" : "check HF_TOKEN";
    return new CoaError(
      "network",
      `${hub} refuses ${name} (HTTP ${status}): accept its licence at ${hub}/${name} where it asks for that, and ${token}`,
      { code: "unauthorised" },
    );
  }
  if (status === 404)
    return new UsageError(`${hub} has no model ${name} at revision ${revision}: check the name and the revision`);
  return new CoaError("network", `${hub} answers HTTP ${status} for ${name}`, {
    retryable: status >= 500 || status === 429,
  });
}
