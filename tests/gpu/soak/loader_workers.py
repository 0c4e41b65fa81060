# SPDX-License-Identifier: Apache-2.0
"""DataLoaders with workers that stay and workers started each epoch, pinned memory, beside work on the GPU."""
import torch


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        return torch.full((64,), index, dtype=torch.int64), torch.randn(64).sort().values


def main():
    torch.manual_seed(0)
    weights = torch.randn(64, 64, device="cuda")
    total, batches = torch.zeros((), dtype=torch.int64, device="cuda"), 0
    for persistent in (True, False):
        loader = torch.utils.data.DataLoader(Samples(), batch_size=16, num_workers=3, pin_memory=True, persistent_workers=persistent,
                                             prefetch_factor=2)
        for _ in range(3):
            for numbers, values in loader:
                total += numbers.to("cuda", non_blocking=True).sum()
                weights = torch.tanh(weights @ weights + values.to("cuda", non_blocking=True).mean())
                batches += 1
                if batches % 10 == 0:
                    total.item()
    print("ok", batches, int(total))


if __name__ == "__main__":
    main()
