# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding by Hugging Face's generate, with a stop test that reads from the GPU each token."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel, StoppingCriteria, StoppingCriteriaList


class Enough(StoppingCriteria):
    def __call__(self, input_ids, scores, **unused):
        enough = bool(input_ids.shape[1] >= 200 and input_ids.sum().item() > 0)
        return torch.full((input_ids.shape[0],), enough, dtype=torch.bool, device=input_ids.device)


def main():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=512, n_positions=512, n_embd=128, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=None, pad_token_id=0)
    model = GPT2LMHeadModel(config).cuda().eval()
    ids = torch.arange(4 * 16, device="cuda").reshape(4, 16)
    lengths = []
    for _ in range(3):
        answer = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=300, do_sample=False,
                                stopping_criteria=StoppingCriteriaList([Enough()]))
        lengths.append(answer.shape[1])
    print("ok", lengths, int(answer[:, :16].sum()))


if __name__ == "__main__":
    main()
