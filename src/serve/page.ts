/**
 * The page at `/`: what runs here, how to call it, and a small playground. Nothing on it comes from another host, and its
 * policy allows no script but its own, so an answer can show text and nothing else.
 */
import { createHash } from "node:crypto";
import type { Reply } from "../base/http/handler.ts";
import type { ChainService } from "./chain-service.ts";

const script = `
const form = document.querySelector("form"), out = document.querySelector("#out");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  out.textContent = "";
  const key = form.key.value, headers = { "content-type": "application/json", ...(key && { authorization: "Bearer " + key }) };
  const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: form.question.value }] });
  const response = await fetch("/v1/chat/completions", { method: "POST", headers, body });
  if (!response.ok) { out.textContent = (await response.json()).error.message; return; }
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split("\\n\\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: {")) continue;
      const chunk = JSON.parse(event.slice(6)), delta = chunk.choices?.[0]?.delta ?? {};
      if (chunk.error) out.append("\\n" + chunk.error.message);
      if (delta.reasoning) out.append(delta.reasoning);
      if (delta.content) { const answer = document.createElement("strong"); answer.textContent = "\\n" + delta.content; out.append(answer); }
    }
  }
});`;
const style =
  "body{font:16px/1.5 system-ui;max-width:46rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}pre{overflow:auto;padding:.8rem;border:1px solid #8884;border-radius:6px;white-space:pre-wrap}textarea,input{width:100%;font:inherit;box-sizing:border-box}";
const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Answers with the page. */
export function sendPage(service: ChainService, host: string, reply: Reply): void {
  const origin = `http://${host}`;
  const model = service.name;
  const ways: [title: string, text: string][] = [
    ["curl", `curl ${origin}/v1/chat/completions -d '{"messages": [{"role": "user", "content": "…"}]}'`],
    [
      "openai",
      `new OpenAI({ baseURL: "${origin}/v1", apiKey: "…" }).chat.completions.create({ model: "${model}", messages })`,
    ],
    ["AI SDK", `createOpenAICompatible({ name: "coa", baseURL: "${origin}/v1" })("${model}")`],
    ["AI SDK, in a page", `useChat({ transport: new DefaultChatTransport({ api: "${origin}/api/chat" }) })`],
    ["Claude Code", `ANTHROPIC_BASE_URL=${origin} ANTHROPIC_API_KEY=… claude --model ${model}`],
    ["Claude Code, as a tool", `claude mcp add --transport http coa ${origin}/mcp`],
    [
      "Codex",
      `codex -c model_providers.coa.name=coa -c model_providers.coa.base_url=${origin}/v1 -c model_providers.coa.wire_api=responses -c model_provider=coa -m ${model}`,
    ],
    ["Open WebUI", `Settings, Connections, OpenAI API: ${origin}/v1`],
  ];
  const tools = service.profile.tags.flatMap(({ tool }) => tool ?? []);
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(model)}</title><style>${style}</style>
<h1>${escaped(model)}</h1><p>${escaped(service.profile.purpose)}</p><p>Profile ${escaped(service.profile.name)}; tools: ${escaped(tools.join(", ") || "none")}.</p>
<h2>Ask</h2><form><p><label>Question<textarea name="question" rows="3" required></textarea></label></p><p><label>Key, where one is needed<input name="key" type="password" autocomplete="off"></label></p><p><button>Ask</button></p></form><pre id="out" aria-live="polite"></pre>
<h2>Call it</h2>${ways.map(([title, text]) => `<h3>${escaped(title)}</h3><pre>${escaped(text)}</pre>`).join("")}<script>${script}</script></html>`;
  reply.send(200, html, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (one) => names[one]!);
}
