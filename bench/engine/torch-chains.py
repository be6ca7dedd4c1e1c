"""One training step on a batch of chains per line of input, timed, in eager PyTorch. Speaks JSON lines.

`padded`: rows of the batch in their order, as many together as `rows` says, each padded to the longest. `packed`: rows one
after the other without padding, attention by sequence. Logits of all positions, labels of -100 where nothing is taught, as
trainers of language models do it.
"""
import json, math, resource, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

setting = json.loads(sys.argv[1])
torch.set_num_threads(setting["threads"])
torch.manual_seed(1)
m = setting["model"]
V, D, L, H, I = (m[k] for k in ("vocabularySize", "hiddenSize", "layers", "heads", "intermediateSize"))
K = m.get("kvHeads") or H
S = m.get("headSize") or D // H
BIAS, RANK, QK = m["architecture"] == "qwen2", setting.get("lora") or 0, m["architecture"] == "qwen3"


class Norm(nn.Module):
    def __init__(self, size=D):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Linear(nn.Module):
    """With the low-rank addition of PEFT where one is trained."""

    def __init__(self, inputs, outputs, bias=False):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=bias)
        if RANK:
            self.a = nn.Parameter(torch.randn(RANK, inputs) / math.sqrt(inputs))
            self.b = nn.Parameter(torch.zeros(outputs, RANK))

    def forward(self, x):
        y = self.base(x)
        return y + 2 * F.linear(F.linear(x, self.a), self.b) if RANK else y


LONGEST = 4200
angles = torch.outer(torch.arange(LONGEST).float(), 1e6 ** (-torch.arange(0, S, 2).float() / S))
COS, SIN = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def rotate(x, at):  # [row, head, position, element]
    a, b = x.chunk(2, -1)
    return x * COS[at] + torch.cat([-b, a], -1) * SIN[at]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = Norm(), Norm()
        self.q, self.k, self.v = Linear(D, H * S, BIAS), Linear(D, K * S, BIAS), Linear(D, K * S, BIAS)
        self.qn, self.kn = (Norm(S), Norm(S)) if QK else (nn.Identity(), nn.Identity())
        self.o = Linear(H * S, D)
        self.gate, self.up, self.down = Linear(D, I), Linear(D, I), Linear(I, D)

    def forward(self, x, at, lengths):
        B, T, _ = x.shape
        h = self.n1(x)
        split = lambda y, heads, norm: norm(y.view(B, T, heads, S)).transpose(1, 2)
        q, k = rotate(split(self.q(h), H, self.qn), at), rotate(split(self.k(h), K, self.kn), at)
        v = split(self.v(h), K, nn.Identity())
        parts, start = [], 0
        for length in lengths or [T]:
            piece = [y[:, :, start : start + length] for y in (q, k, v)]
            parts.append(F.scaled_dot_product_attention(*piece, is_causal=True, enable_gqa=H != K))
            start += length
        a = parts[0] if len(parts) == 1 else torch.cat(parts, 2)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, H * S))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = Norm()

    def forward(self, ids, at, lengths=None):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, at, lengths)
        return F.linear(self.norm(x), self.embed.weight)


model = Model()
if RANK:
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.endswith((".a", ".b"))
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-12, betas=(0.9, 0.95), foreach=True)

batch = json.load(open(setting["batch"]))
rows = [(torch.tensor(r["tokens"]), [-100 if w == 0 else t for t, w in zip(r["tokens"][1:], r["weights"])]) for r in batch]
taught = sum(1 for _, labels in rows for label in labels if label != -100)
passes = []  # of (ids, positions, lengths, labels)
if setting["mode"] == "padded":
    for start in range(0, len(rows), setting["rows"]):
        part = rows[start : start + setting["rows"]]
        longest = max(len(labels) for _, labels in part)
        ids = torch.stack([F.pad(tokens[:-1], (0, longest - len(labels))) for tokens, labels in part])
        labels = torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in part])
        passes.append((ids, torch.arange(longest), None, labels))
else:
    part, size = [], 0
    for row in [*rows, None]:
        if part and (row is None or size + len(row[1]) > setting["packedTokens"]):
            lengths = [len(labels) for _, labels in part]
            ids = torch.cat([tokens[:-1] for tokens, _ in part])[None]
            at = torch.cat([torch.arange(length) for length in lengths])
            passes.append((ids, at, lengths, torch.tensor([[y for _, labels in part for y in labels]])))
            part, size = [], 0
        if row is not None:
            part.append(row)
            size += len(row[1])

print(json.dumps({"name": f"PyTorch {torch.__version__} {setting['mode']}"}), flush=True)
for _ in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    value = 0.0
    for ids, at, lengths, labels in passes:
        logits = model(ids, at, lengths)
        loss = F.cross_entropy(logits.reshape(-1, V), labels.reshape(-1), ignore_index=-100, reduction="sum") / taught
        loss.backward()
        value += loss.item()
        del logits, loss
    nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wallMs": wall * 1e3, "cpuMs": cpu * 1e3, "loss": value, "peakBytes": memory}), flush=True)
