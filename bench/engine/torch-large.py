"""transformers and PEFT on a folder of a real model's size: the peer of our-large.ts, line by line."""
import json, resource, sys, time
import torch
import torch.nn.functional as F
import transformers
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, DynamicCache

setting = json.loads(sys.argv[1])
torch.set_num_threads(setting["threads"])
torch.manual_seed(1)
transformers.utils.logging.disable_progress_bar()


def memory():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize()
    return {"bytes": resident, "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def say(started=None, **more):
    took = {}
    if started:
        took = {"wallMs": (time.perf_counter() - started[0]) * 1e3, "cpuMs": (time.process_time() - started[1]) * 1e3}
    print(json.dumps({**took, **memory(), **more}), flush=True)


def now():
    return time.perf_counter(), time.process_time()


start = now()
base = AutoModelForCausalLM.from_pretrained(setting["folder"], dtype=torch.float32)
rank = setting["lora"]
# f32 weights and optimizer; with "bf16" products in bfloat16.
narrow = setting.get("dtype") == "bf16"
targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
if rank:
    model = get_peft_model(base, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=targets))
else:
    model = base
    model.get_input_embeddings().weight.requires_grad_(False)
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5, betas=(0.9, 0.95), foreach=True)
say(start, name=f"PyTorch {torch.__version__}{' bf16' if narrow else ''}, transformers {transformers.__version__}")
ids = torch.tensor(setting["rows"])
inputs, labels = ids[:, :-1], ids[:, 1:]
merged = False


@torch.no_grad()
def score():
    logits = model(input_ids=inputs, use_cache=False).logits
    return torch.log_softmax(logits, -1).gather(2, labels[..., None])[..., 0].tolist()


def train():
    with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        logits = model(input_ids=inputs, use_cache=False).logits
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def decode(batch, context, steps):
    cache = DynamicCache()
    read = ids.reshape(1, -1)[:, :context]
    draw = lambda logits: torch.multinomial(torch.softmax(logits[:, -1], -1), 1)
    token = draw(model(input_ids=read, past_key_values=cache, use_cache=True, logits_to_keep=1).logits).repeat(batch, 1)
    cache.batch_repeat_interleave(batch)
    start = now()
    for _ in range(steps):
        token = draw(model(input_ids=token, past_key_values=cache, use_cache=True).logits)
    say(start, tokens=batch * steps)


@torch.no_grad()
def prefill(context):
    start = now()
    model(input_ids=ids.reshape(1, -1)[:, :context], use_cache=True, logits_to_keep=1)
    say(start, tokens=context)


for line in sys.stdin:
    request = json.loads(line)
    start = now()
    if request["do"] == "score":
        say(start, logprobs=score())
    elif request["do"] == "train":
        train()
        say(start)
    elif request["do"] == "publish":
        model.merge_adapter()
        say(start)
    elif request["do"] == "prefill":
        prefill(request["context"])
    else:
        decode(request["batch"], request["context"], request["steps"])
