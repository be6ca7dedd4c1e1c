"""The supervised recipe of tinker-cookbook against a server: `<server> <base model> <tokenizer> <conversations.jsonl> <log folder>`."""

import asyncio
import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", TINKER_API_KEY="tml-smoke")
from tinker_cookbook.renderers import TrainOnWhat
from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.data import FromConversationFileBuilder
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig
from tinker_cookbook.tokenizer_utils import register_tokenizer
from transformers import AutoTokenizer

server, name, folder, rows, logs = sys.argv[1:6]
register_tokenizer(name, lambda: AutoTokenizer.from_pretrained(folder))
common = ChatDatasetBuilderCommonConfig(
    model_name_for_tokenizer=name,
    renderer_name="role_colon",
    max_length=256,
    batch_size=4,
    train_on_what=TrainOnWhat.ALL_ASSISTANT_MESSAGES,
)
config = train.Config(
    log_path=logs,
    model_name=name,
    recipe_name="recipe_sl_basic",
    renderer_name="role_colon",
    dataset_builder=FromConversationFileBuilder(common_config=common, file_path=rows),
    learning_rate=5e-3,
    num_epochs=4,
    lora_rank=4,
    base_url=server,
    save_every=4,
    eval_every=0,
)
asyncio.run(train.main(config))
lines = [json.loads(line) for line in open(os.path.join(logs, "metrics.jsonl"))]
checkpoints = [json.loads(line) for line in open(os.path.join(logs, "checkpoints.jsonl"))]
losses = [line["train_mean_nll"] for line in lines if "train_mean_nll" in line]
print(json.dumps({"losses": losses, "checkpoints": len(checkpoints)}))
