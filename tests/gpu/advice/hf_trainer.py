# SPDX-License-Identifier: Apache-2.0
"""A small BERT learns to classify texts with the Trainer of Hugging Face. Its default filter of NaN losses reads the loss
in each step, before the optimizer is launched."""
import argparse
import tempfile
import time

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

TOKENS, VOCABULARY, CLASSES, BATCH = 256, 16000, 4, 64


class Texts(torch.utils.data.Dataset):
    def __init__(self, length):
        self.ids = torch.randint(VOCABULARY, (length, TOKENS))
        self.labels = torch.randint(CLASSES, (length,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class StepTimer(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == args.max_steps // 5:
            torch.cuda.synchronize()
            self.start = time.perf_counter()
        elif state.global_step == args.max_steps:
            torch.cuda.synchronize()
            self.seconds = time.perf_counter() - self.start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    # The texts have no padding, so there is no token for it.
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=768, num_hidden_layers=4, num_attention_heads=12,
                        intermediate_size=3072, max_position_embeddings=TOKENS, num_labels=CLASSES, pad_token_id=None)
    model, timer = BertForSequenceClassification(config), StepTimer()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(output_dir=folder, max_steps=steps, per_device_train_batch_size=BATCH, bf16=True,
                                 learning_rate=5e-5, logging_steps=100, save_strategy="no", report_to="none",
                                 disable_tqdm=True, dataloader_num_workers=4, seed=0,
                                 accelerator_config={"non_blocking": True})
        trainer = Trainer(model=model, args=args, train_dataset=Texts(steps * BATCH), callbacks=[timer])
        trainer.remove_callback(PrinterCallback)
        done = trainer.train()
    print("ms/step=%.4f" % (timer.seconds / (steps - steps // 5) * 1000))
    print("result=%.6g" % done.training_loss)


if __name__ == "__main__":
    main()
