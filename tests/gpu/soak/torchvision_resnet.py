# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 in bfloat16, channels last, copies from pinned memory on a stream of their own."""
import torch
import torchvision


def main():
    torch.manual_seed(0)
    model = torchvision.models.resnet18(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    images = [torch.randn(32, 3, 96, 96).pin_memory() for _ in range(4)]
    labels = torch.arange(32, device="cuda") % 10
    side = torch.cuda.Stream()
    for step in range(80):
        with torch.cuda.stream(side):
            batch = images[step % 4].to("cuda", non_blocking=True).contiguous(memory_format=torch.channels_last)
        torch.cuda.current_stream().wait_stream(side)
        batch.record_stream(torch.cuda.current_stream())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            assert loss.isfinite().item()
    torch.cuda.synchronize()
    print("ok", step + 1, loss.item() < 10)


if __name__ == "__main__":
    main()
