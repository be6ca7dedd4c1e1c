/** The visual_inspector tool: shows an image file to a vision model and reports what it sees. */

import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { z } from "zod";
import { openaiChat } from "../base/wire/openai-chat.ts";
import { messageOf, ToolError } from "../core/errors.ts";
import { asObject } from "../core/json-value.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { keyPool, requestJson } from "./search/request-json.ts";

const input = z.object({ file_path: z.string().min(1), question: z.string().optional() });
const name = "visual_inspector";

export interface VisualInspectorOptions {
  /** An OpenAI-compatible server, up to `/v1`. */
  baseURL: string;
  model: string;
  apiKey?: string;
  /** Images may be read from inside these folders only: the path comes from a model. */
  folders: readonly string[];
  maxBytes?: number;
  maxTokens?: number;
  retries?: number;
  backOffMs?: number;
}

export function visualInspector(options: VisualInspectorOptions): Tool<z.infer<typeof input>> {
  const { baseURL, model, apiKey = "", maxTokens = 1_000, retries = 2, backOffMs } = options;
  return defineTool({
    name,
    description: "Look at an image file and describe what is in it, with a question in mind if one is given.",
    input,
    timeoutMs: 180_000,
    async run({ file_path, question }, { signal }) {
      const image = await readImage(file_path, options);
      const body = {
        model,
        max_tokens: maxTokens,
        top_p: 0.1,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: prompt(question) },
              { type: "image_url", image_url: { url: `data:${image.type};base64,${image.bytes.toString("base64")}` } },
            ],
          },
        ],
      };
      const answer = await requestJson({
        service: `vision model ${model}`,
        request: (key) => ({
          url: `${baseURL.replace(/\/+$/, "")}/chat/completions`,
          method: "POST",
          headers: key ? { authorization: `Bearer ${key}` } : undefined,
          body,
        }),
        keys: apiKey ? keyPool([apiKey]) : undefined,
        retries,
        backOffMs,
        signal,
      });
      const { text } = openaiChat.readReply(asObject(answer) ?? {});
      if (text === "")
        throw new ToolError(name, `${model} answered without a text: ${JSON.stringify(answer).slice(0, 200)}`);
      return text.trim();
    },
  });
}

function prompt(question: string | undefined): string {
  const about = question ? `Someone needs the image to answer this: ${question}\n` : "";
  return `${about}Describe what the image shows, in full and exactly: objects, people, places, layout, colours, and every piece of text, number and label as written.${
    question
      ? " Pay most attention to what matters for the question, but do not answer it: report what can be seen."
      : ""
  }`;
}

async function readImage(path: string, options: VisualInspectorOptions): Promise<{ bytes: Buffer; type: string }> {
  const { folders, maxBytes = 20_000_000 } = options;
  const real = await findInside(path, folders);
  const { size } = await stat(real);
  if (size > maxBytes) throw new ToolError(name, `${path} has ${size} bytes, the most is ${maxBytes}`);
  const bytes = await readFile(real);
  const type = imageType(bytes);
  if (!type) throw new ToolError(name, `${path} is not an image (jpeg, png, gif, bmp or webp)`);
  return { bytes, type };
}

/** The file's real path, symbolic links resolved, provided it lies inside one of the folders. */
async function findInside(path: string, folders: readonly string[]): Promise<string> {
  let problem: unknown;
  for (const folder of folders) {
    try {
      const root = await realpath(folder);
      const real = await realpath(resolve(root, path));
      const inside = relative(root, real);
      if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return real;
    } catch (error) {
      problem ??= error;
    }
  }
  const because = problem ? `: ${messageOf(problem)}` : ` inside ${folders.join(", ")}`;
  throw new ToolError(name, `there is no image ${path}${because}`);
}

/** The type of an image by its first bytes; the name says nothing certain. */
function imageType(bytes: Buffer): string | undefined {
  const start = bytes.subarray(0, 12).toString("latin1");
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (/^GIF8[79]a/.test(start)) return "image/gif";
  if (start.startsWith("BM")) return "image/bmp";
  return start.startsWith("RIFF") && start.endsWith("WEBP") ? "image/webp" : undefined;
}
