"""A KV-cache decoding loop in PyTorch eager: the peer of bench/engine-decode. Reads one JSON request per line
({batch, context, steps, threads}) and answers with the seconds that `steps` tokens of `batch` sequences took, by the
clock and in processor time."""
import json, sys, time
import torch
import torch.nn.functional as F

V, D, L, H, I = (int(x) for x in sys.argv[1:6])
HD = D // H
torch.manual_seed(0)
w = lambda *s: torch.randn(*s) * 0.05
emb = w(V, D)
layers = [dict(n1=torch.ones(D), qkv=w(D, 3 * D), b=w(3 * D), o=w(D, D), n2=torch.ones(D), gu=w(D, 2 * I), d=w(I, D)) for _ in range(L)]
norm = torch.ones(D)
inv = 1e6 ** (-torch.arange(0, HD // 2).float() / (HD // 2))

def rms(x, g):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * g

def rope(x, c, s):
    a, b = x[..., : HD // 2], x[..., HD // 2 :]
    return torch.cat([a * c - b * s, b * c + a * s], -1)

@torch.no_grad()
def run(batch, context, steps):
    k = [torch.randn(batch, H, context + steps, HD) for _ in range(L)]
    v = [torch.randn(batch, H, context + steps, HD) for _ in range(L)]
    token = torch.randint(0, V, (batch,))
    start, cpu = time.perf_counter(), time.process_time()
    for step in range(steps):
        pos = context + step
        ang = pos * inv
        c, s = ang.cos(), ang.sin()
        x = emb[token]
        for i, l in enumerate(layers):
            q, kk, vv = torch.addmm(l["b"], rms(x, l["n1"]), l["qkv"]).view(batch, 3, H, HD).unbind(1)
            k[i][:, :, pos] = rope(kk, c, s)
            v[i][:, :, pos] = vv
            q = rope(q, c, s).unsqueeze(2)
            p = torch.softmax(q @ k[i][:, :, : pos + 1].transpose(-1, -2) / HD**0.5, -1)
            x = x + (p @ v[i][:, :, : pos + 1]).reshape(batch, D) @ l["o"]
            g, u = (rms(x, l["n2"]) @ l["gu"]).chunk(2, -1)
            x = x + (F.silu(g) * u) @ l["d"]
        token = torch.multinomial(torch.softmax(rms(x, norm) @ emb.T, -1), 1).squeeze(1)
    return {"seconds": time.perf_counter() - start, "processorSeconds": time.process_time() - cpu}

print(json.dumps({"version": torch.__version__}), flush=True)
for line in sys.stdin:
    r = json.loads(line)
    torch.set_num_threads(r["threads"])
    run(r["batch"], r["context"], 3)
    print(json.dumps(run(r["batch"], r["context"], r["steps"])), flush=True)
