# SPDX-License-Identifier: Apache-2.0
"""torch.compile with CUDA graphs (reduce-overhead), forward and backward, and a graph of one's own. Caches: TORCHINDUCTOR_CACHE_DIR."""
import torch


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    compiled = torch.compile(model, mode="reduce-overhead")
    batch, host = torch.randn(64, 128, device="cuda"), torch.randn(64, 128).pin_memory()
    for step in range(300):
        batch.copy_(host, non_blocking=True)
        torch.compiler.cudagraph_mark_step_begin()
        loss = compiled(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0:
            assert loss.isfinite().item()
    graph, total = torch.cuda.CUDAGraph(), torch.zeros(256, device="cuda", dtype=torch.int64)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        total += 1
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        for _ in range(20):
            total += 1
    for _ in range(300):
        graph.replay()
    print("ok", step + 1, int(total.sum()))


if __name__ == "__main__":
    main()
