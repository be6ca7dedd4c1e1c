"""llama.cpp's own server (xllamacpp) on a GGUF file: the peer of our-large.ts in reading and decoding, line by line."""
import concurrent.futures, json, resource, sys, time, urllib.request
import xllamacpp

setting = json.loads(sys.argv[1])
params = xllamacpp.CommonParams()
params.model.path = setting["file"]
params.cpuparams.n_threads = setting["threads"]
params.cpuparams_batch.n_threads = setting["threads"]
params.n_parallel = 32
params.n_ctx = 32 * 640
params.kv_unified = True
params.warmup = False
params.verbosity = -1
start = (time.perf_counter(), time.process_time())
server = xllamacpp.Server(params)
rows = [token for row in setting["rows"] for token in row]


def say(started, **more):
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    took = {"wallMs": (time.perf_counter() - started[0]) * 1e3, "cpuMs": (time.process_time() - started[1]) * 1e3}
    print(json.dumps({**took, "bytes": resident, "peakBytes": peak, **more}), flush=True)


def complete(prompt, count, slot, on=True):  # on: past the end of the text, so that all runs are equally long
    body = {"prompt": prompt, "n_predict": count, "id_slot": slot, "temperature": 0, "ignore_eos": on}
    body |= {"cache_prompt": True, "return_tokens": True}
    request = urllib.request.Request(
        f"{server.listening_address}/completion", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request))


def together(batch, context, count):
    with concurrent.futures.ThreadPoolExecutor(batch) as pool:
        jobs = [pool.submit(complete, rows[at * 5 : at * 5 + context], count, at) for at in range(batch)]
        return [job.result() for job in jobs]


say(start, name=f"llama.cpp {xllamacpp.__version__ if hasattr(xllamacpp, '__version__') else ''} {setting['type']}")
read = 0
for line in sys.stdin:
    request = json.loads(line)
    start = (time.perf_counter(), time.process_time())
    if request["do"] == "prefill":
        read += 1
        context = request["context"]
        complete(rows[200 + read * 3 : 200 + read * 3 + context], 1, 0)
        say(start, tokens=context)
    elif request["do"] == "greedy":
        say(start, answers=[complete(prompt, request["steps"], 0, False)["tokens"] for prompt in request["prompts"]])
    else:
        batch, context, steps = request["batch"], request["context"], request["steps"]
        # What requests cost by themselves is no decoding: long ones less short ones, the prompts being in the slots' caches.
        few, many = 4, 4 + max(16, 2 * steps)
        together(batch, context, 1)
        start = (time.perf_counter(), time.process_time())
        together(batch, context, few)
        took = time.perf_counter() - start[0], time.process_time() - start[1]
        start = (time.perf_counter() + took[0], time.process_time() + took[1])
        together(batch, context, many)
        say(start, tokens=batch * (many - few))
