# SPDX-License-Identifier: Apache-2.0
"""A small Llama writes 64 texts at once with generate(). The stopping criterion reads the last token of each text with
.item(), which makes 64 reads for each token."""
import argparse
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StoppingCriteria, StoppingCriteriaList

VOCABULARY, TEXTS, PROMPT = 16000, 64, 32


class StopAtIds(StoppingCriteria):
    """A text ends at any of the stop ids."""

    def __init__(self, stop_ids):
        self.stop_ids = stop_ids

    def __call__(self, input_ids, scores, **kwargs):
        done = [input_ids[row, -1].item() in self.stop_ids for row in range(input_ids.shape[0])]
        return torch.tensor(done, device=input_ids.device)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=1024, intermediate_size=2816, num_hidden_layers=6,
                         num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=1024, bos_token_id=1,
                         eos_token_id=None, pad_token_id=0)
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    prompts = torch.randint(2, VOCABULARY, (TEXTS, PROMPT), device="cuda")
    mask = torch.ones_like(prompts)
    criteria = StoppingCriteriaList([StopAtIds([7, 11, 13])])

    def write(tokens):
        return model.generate(prompts, attention_mask=mask, max_new_tokens=tokens, do_sample=False,
                              stopping_criteria=criteria)

    write(steps // 5)
    torch.cuda.synchronize()
    start = time.perf_counter()
    texts = write(steps - steps // 5)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (texts.shape[1] - PROMPT) * 1000))
    print("result=%.6g" % texts.sum().item())


if __name__ == "__main__":
    main()
