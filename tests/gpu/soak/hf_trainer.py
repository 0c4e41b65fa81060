# SPDX-License-Identifier: Apache-2.0
"""A tiny GPT-2 trained by Hugging Face's Trainer, with checkpoints."""
import contextlib
import os
import sys
import tempfile

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # with two the Trainer makes replicas

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

STEPS = 60


class Lines(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        ids = (torch.arange(64) * (index % 7 + 1)) % 256
        return {"input_ids": ids, "labels": ids}


def main():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        arguments = TrainingArguments(output_dir=folder, max_steps=STEPS, per_device_train_batch_size=8, report_to="none", save_steps=30,
                                      logging_steps=5, disable_tqdm=True, dataloader_num_workers=2, seed=0)
        trainer = Trainer(model=model, args=arguments, train_dataset=Lines())
        done = trainer.train()
    print("ok", done.global_step, done.training_loss < 6)


if __name__ == "__main__":
    main()
