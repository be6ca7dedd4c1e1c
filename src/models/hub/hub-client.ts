/**
 * Reads a hub in Hugging Face's layout: what a repository holds at a revision, and its files. The token is sent to the
 * hub only: `fetch` leaves it out where a redirect leads to another host.
 */
import { CoaError, messageOf, UsageError } from "../../core/errors.ts";
import { asArray, asNumber, asObject, asString, objectsOf } from "../../core/json-value.ts";

/** A file of a repository. Large ones are known by SHA-256, small ones by git's SHA-1 of the blob. */
export interface HubFile {
  path: string;
  size: number;
  sha256?: string;
  blobId?: string;
}

export interface HubModel {
  name: string;
  /** The commit. */
  revision: string;
  license: string | null;
  files: HubFile[];
}

export interface HubOptions {
  /** Default `https://huggingface.co`. */
  endpoint?: string;
  token?: string;
  signal?: AbortSignal;
}

/** The hub of the options, without a slash at its end. */
export function hubEndpoint({ endpoint = "https://huggingface.co" }: HubOptions): string {
  return endpoint.replace(/\/+$/, "");
}

/** What a repository holds at a revision. */
export async function hubModel(name: string, revision: string, options: HubOptions): Promise<HubModel> {
  const path = `api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const body = asObject(await (await fetchFrom(path, { name, revision }, options)).json()) ?? {};
  const sha = asString(body["sha"]);
  if (!sha || !/^[0-9a-f]{7,64}$/.test(sha)) throw new CoaError("network", `${path} does not say which commit it is`);
  const files = objectsOf(body["siblings"]).flatMap((one): HubFile[] => {
    const lfs = asObject(one["lfs"]);
    const path = asString(one["rfilename"]);
    const size = asNumber(lfs?.["size"]) ?? asNumber(one["size"]);
    if (path === undefined || size === undefined) return [];
    const sha256 = asString(lfs?.["sha256"]) ?? asString(lfs?.["oid"]);
    return [{ path, size, ...(sha256 ? { sha256 } : { blobId: asString(one["blobId"]) }) }];
  });
  const tag = asArray(body["tags"]).find((one) => typeof one === "string" && one.startsWith("license:"));
  const license = asString(asObject(body["cardData"])?.["license"]) ?? asString(tag)?.slice("license:".length) ?? null;
  return { name, revision: sha, license, files };
}

/** A file from a byte on; the answer may begin at the first byte all the same, where its status is 200. */
export function hubFile(model: HubModel, file: HubFile, from: number, options: HubOptions): Promise<Response> {
  const path = `${model.name}/resolve/${model.revision}/${encodeURIComponent(file.path)}`;
  return fetchFrom(path, model, options, from > 0 ? { range: `bytes=${from}-` } : {});
}

async function fetchFrom(
  path: string,
  { name, revision }: Pick<HubModel, "name" | "revision">,
  { token, signal, ...options }: HubOptions,
  headers: Record<string, string> = {},
): Promise<Response> {
  const hub = hubEndpoint(options);
  const response = await fetch(`${hub}/${path}`, {
    headers: { ...headers, "accept-encoding": "identity", ...(token && { authorization: `Bearer ${token}` }) },
    signal,
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    const why = messageOf((error as { cause?: unknown }).cause ?? error);
    const message = `${hub} can't be reached: ${why}. For another hub set HF_ENDPOINT`;
    throw new CoaError("network", message, { retryable: true, cause: error });
  });
  if (response.ok) return response;
  const { status } = response;
  if (status === 404)
    throw new UsageError(`${hub} has no model ${name} at revision ${revision}: check the name and the revision`);
  if (status !== 401 && status !== 403)
    throw new CoaError("network", `${hub} answers HTTP ${status} for ${name}`, {
      retryable: status >= 500 || status === 429,
    });
  throw new CoaError(
    "network",
    `${hub} refuses ${name} (HTTP ${status}): accept its licence at ${hub}/${name} where it asks for that, and ${token === undefined ? "set" : "check"} HF_TOKEN`,
    { code: "unauthorised" },
  );
}
