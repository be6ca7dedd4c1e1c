"""Trains and samples with the Tinker SDK against the server given as the first argument. Prints one JSON object."""
import json, sys
import tinker
from tinker import types

url, base_model = sys.argv[1:3]
service = tinker.ServiceClient(base_url=url, api_key="tml-smoke")
training = service.create_lora_training_client(base_model=base_model, rank=4, seed=5)
tokens = [1, 30, 40, 50, 60, 70, 80, 90]
weights = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
tensor = lambda data, dtype: types.TensorData(data=data, dtype=dtype, shape=[len(data)])
datum = types.Datum(
    model_input=types.ModelInput.from_ints(tokens[:-1]),
    loss_fn_inputs={"target_tokens": tensor(tokens[1:], "int64"), "weights": tensor(weights, "float32")},
)
losses, counts = [], []
for _ in range(8):
    passed = training.forward_backward([datum], "cross_entropy")
    stepped = training.optim_step(types.AdamParams(learning_rate=0.02))
    logprobs = passed.result().loss_fn_outputs[0]["logprobs"].data
    stepped.result()
    counts.append(len(logprobs))
    losses.append(-sum(w * p for w, p in zip(weights, logprobs)) / sum(weights))
sampler = training.save_weights_and_get_sampling_client(name="smoke")
params = types.SamplingParams(max_tokens=4, temperature=1.0, seed=3)
answer = sampler.sample(prompt=types.ModelInput.from_ints(tokens[:3]), num_samples=2, sampling_params=params).result()
sampled = [{"tokens": len(s.tokens), "logprobs": len(s.logprobs)} for s in answer.sequences]
print(json.dumps({"losses": losses, "counts": counts, "sampled": sampled}))
