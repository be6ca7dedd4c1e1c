"""One step of TRL's SFT on rows of ids and labels: `<model> <rows.jsonl> <folder>`. Prints the loss of its first step as JSON."""

import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

model, rows, folder = sys.argv[1:4]
rows = [json.loads(line) for line in open(rows)]
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(model)
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(model).float(),
    processing_class=tokenizer,
    train_dataset=Dataset.from_list(rows),
    args=SFTConfig(
        output_dir=folder,
        dataset_kwargs={"skip_prepare_dataset": True},
        per_device_train_batch_size=len(rows),
        max_steps=1,
        learning_rate=0.0,
        optim="sgd",
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
    ),
)
trainer.train()
print(json.dumps({"loss": trainer.state.log_history[0]["loss"], "rows": len(rows)}))
