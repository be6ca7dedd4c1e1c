"""One training step per line of input, timed: the same decoder in eager PyTorch with AdamW. Speaks JSON lines."""
import json, math, resource, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

config = json.loads(sys.argv[1])
torch.set_num_threads(config["threads"])
torch.manual_seed(1)
V, D, L, H, I, T, B = (config[k] for k in ("vocabularySize", "hiddenSize", "layers", "heads", "intermediateSize", "length", "rows"))
SDPA = getattr(F, "scaled_dot_product_attention", None)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


angles = torch.outer(torch.arange(T).float(), 1e6 ** (-torch.arange(0, D // H, 2).float() / (D // H)))
COS, SIN = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
MASK = torch.full((T, T), float("-inf")).triu(1)


def rotate(x):
    a, b = x.chunk(2, -1)
    return x * COS + torch.cat([-b, a], -1) * SIN


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = Norm(), Norm()
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.o = nn.Linear(D, D, bias=False)
        self.gate, self.up, self.down = nn.Linear(D, I, bias=False), nn.Linear(D, I, bias=False), nn.Linear(I, D, bias=False)

    def forward(self, x):
        q, k, v = (y.view(B, T, H, D // H).transpose(1, 2) for y in self.qkv(self.n1(x)).chunk(3, -1))
        q, k = rotate(q), rotate(k)
        if SDPA:
            a = SDPA(q, k, v, is_causal=True)
        else:
            a = (q @ k.transpose(-1, -2) / math.sqrt(D // H) + MASK).softmax(-1) @ v
        x = x + self.o(a.transpose(1, 2).reshape(B, T, D))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = Norm()

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embed.weight.T


model = Model()
try:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), foreach=True)
except TypeError:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
how = "eager"
run = model
if config.get("compile"):
    run, how = torch.compile(model), "compiled"
ids = torch.randint(0, V, (B, T + 1))
attention = "scaled_dot_product_attention" if SDPA else "explicit attention"
# A torch built on the reference BLAS (Debian's is) is many times slower than a usual one; the label must say so.
blas = " (reference BLAS)" if "BLAS_INFO=generic" in torch.__config__.show() else ""
print(json.dumps({"name": f"PyTorch {torch.__version__}{blas} {how}, {attention}"}), flush=True)
for _ in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    loss = F.cross_entropy(run(ids[:, :-1]).reshape(-1, V), ids[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    value = loss.item()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wallMs": wall * 1e3, "cpuMs": cpu * 1e3, "loss": value, "peakBytes": memory}), flush=True)
