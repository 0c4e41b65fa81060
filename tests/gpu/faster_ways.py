# SPDX-License-Identifier: Apache-2.0
"""What stays of the GPU's time where it does the same work in a faster way: rules ST079 to ST084.

Each pair runs in turns, 7 rounds, timed with CUDA events around what a step would do. Prints CSV: the pair, its size,
milliseconds before and after (medians), the share that stays, and the largest difference of the results, relative to
the largest result.

  python3 faster_ways.py [PART ..] > rows.csv
"""
import copy
import math
import statistics
import sys

import torch
import torch.nn.functional as F

DEVICE = "cuda"


def timed(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    result = call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end), result


def compare(name, size, before, after):
    for call in (before, after):
        for _ in range(2):
            call()
    times = ([], [])
    results = [None, None]
    for _ in range(7):
        for i, call in enumerate((before, after)):
            ms, results[i] = timed(call)
            times[i].append(ms)
    old, new = (statistics.median(row) for row in times)
    a, b = (r.detach().double() for r in results)
    off = ((a - b).abs().max() / a.abs().max()).item()
    print(f"{name},{size},{old:.3f},{new:.3f},{new / old:.3f},{off:.1e}", flush=True)


def convolutions():
    for length, rows in ((16000, 2048), (8192, 4096), (4001, 4096)):
        u = torch.randn(rows, length, device=DEVICE, requires_grad=True)
        k = torch.randn(rows, length, device=DEVICE)

        def convolve(n):
            y = torch.fft.irfft(torch.fft.rfft(u, n=n) * torch.fft.rfft(k, n=n), n=n)[..., :length]
            return torch.autograd.grad(y.square().sum(), u)[0]

        whole = 2 * length - 1
        smooth = whole
        while max(p for p in range(2, smooth + 1) if smooth % p == 0 and all(p % q for q in range(2, int(math.isqrt(p)) + 1))) > 7:
            smooth += 1
        compare("fft", f"{whole} to {smooth}", lambda: convolve(whole), lambda: convolve(smooth))
    for side, pad in ((509, 512), (1021, 1024)):
        x = torch.randn(64 if side < 600 else 16, side, side, device=DEVICE)
        y = F.pad(x, (0, pad - side, 0, pad - side))
        compare("fft", f"{side}x{side} to {pad}x{pad}", lambda: torch.fft.fft2(x).abs().sum(),
                lambda: torch.fft.fft2(y).abs().sum())


def whole_sorts():
    for rows, width, k in ((32768, 2048, 20), (4096, 16384, 50), (128, 262144, 100), (1_000_000, 64, 8)):
        x = torch.randn(rows, width, device=DEVICE)
        compare("sort", f"{k} of {width} in {rows} rows",
                lambda: x.sort(dim=-1, descending=True)[0][:, :k], lambda: x.topk(k, dim=-1)[0])


def factorisations():
    for n, columns, dtype in ((1024, 1, torch.float32), (4096, 64, torch.float64), (4096, 4096, torch.float64),
                              (2048, 256, torch.float32)):
        a = torch.eye(n, device=DEVICE, dtype=dtype) * n + torch.randn(n, n, device=DEVICE, dtype=dtype)
        b = torch.randn(n, columns, device=DEVICE, dtype=dtype)
        lu, pivots = torch.linalg.lu_factor(a)
        name = f"{n} by {columns} {str(dtype)[6:]}"
        compare("factor", name, lambda: torch.linalg.solve(a, b), lambda: torch.linalg.lu_solve(lu, pivots, b))
    batch = torch.randn(256, 128, 128, device=DEVICE) + 128 * torch.eye(128, device=DEVICE)
    b = torch.randn(256, 128, 4, device=DEVICE)
    lu, pivots = torch.linalg.lu_factor(batch)
    compare("factor", "256 of 128 by 4 float32", lambda: torch.linalg.solve(batch, b),
            lambda: torch.linalg.lu_solve(lu, pivots, b))
    spd = batch[0] @ batch[0].T
    spd = spd.double()
    rhs = torch.randn(128, 4, device=DEVICE, dtype=torch.float64)
    low = torch.linalg.cholesky(spd)
    compare("factor", "128 by 4 float64 Cholesky", lambda: torch.cholesky_solve(rhs, torch.linalg.cholesky(spd)),
            lambda: torch.cholesky_solve(rhs, low))


def attentions():
    for batch, heads, t, width, dtype, causal in ((8, 12, 1024, 64, torch.bfloat16, True),
                                                  (64, 12, 197, 64, torch.bfloat16, False),
                                                  (8, 12, 1024, 64, torch.float32, True),
                                                  (32, 8, 256, 32, torch.float32, False),
                                                  (16, 8, 512, 64, torch.float32, True)):
        q, k, v = (torch.randn(batch, heads, t, width, device=DEVICE, dtype=dtype, requires_grad=True) for _ in range(3))
        mask = torch.ones(t, t, device=DEVICE, dtype=torch.bool).tril()

        def by_hand():
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(width)
            if causal:
                scores = scores.masked_fill(~mask, float("-inf"))
            y = scores.softmax(-1) @ v
            return torch.cat([g.flatten() for g in torch.autograd.grad(y.square().sum(), (q, k, v))])

        def fused():
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return torch.cat([g.flatten() for g in torch.autograd.grad(y.square().sum(), (q, k, v))])

        size = f"{batch}x{heads}x{t}x{width} {str(dtype)[6:]}{' causal' if causal else ''}"
        compare("attention", size, by_hand, fused)
    for autocast in (True, False):
        attn = torch.nn.MultiheadAttention(768, 12, batch_first=True, device=DEVICE)
        h = torch.randn(8, 1024, 768, device=DEVICE, requires_grad=True)
        mask = torch.triu(torch.full((1024, 1024), float("-inf"), device=DEVICE), 1)

        def run(**more):
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                y, _ = attn(h, h, h, attn_mask=mask, **more)
            return torch.autograd.grad(y.float().square().sum(), h)[0]

        kind = "bfloat16 autocast" if autocast else "float32"
        compare("need_weights=False", kind, run, lambda: run(need_weights=False))
        compare("need_weights=False is_causal", kind, run, lambda: run(need_weights=False, is_causal=True))


def weight_casts():
    """Here the share that stays is that of the time which casting all weights takes."""
    layer = torch.nn.TransformerEncoderLayer
    models = (
        ("8 layers of 2048, 16 tokens", torch.nn.TransformerEncoder(layer(2048, 16, 8192, batch_first=True), 8), (16, 1, 2048)),
        ("24 layers of 1024, 4 tokens", torch.nn.TransformerEncoder(layer(1024, 16, 4096, batch_first=True), 24), (4, 1, 1024)),
        ("12 layers of 768, 8 x 197 tokens", torch.nn.TransformerEncoder(layer(768, 12, 3072, batch_first=True), 12), (8, 197, 768)),
        ("6 convolutions of 512, 8 images", torch.nn.Sequential(*(torch.nn.Conv2d(512, 512, 3, padding=1) for _ in range(6))),
         (8, 512, 14, 14)),
    )
    for size, model, shape in models:
        model = model.to(DEVICE).eval().requires_grad_(False)
        converted = copy.deepcopy(model).to(torch.bfloat16)
        x = torch.randn(shape, device=DEVICE)
        weights = [p for p in model.parameters() if p.dim() > 1]

        def cast():
            return sum(p.to(torch.bfloat16).flatten()[0] for p in weights)

        def run(net, given):
            with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
                return net(given)

        calls = (lambda: run(model, x), lambda: run(converted, x.to(torch.bfloat16)), cast)
        graphs = []
        for call in calls:  # graphs: the GPU's time counts
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = call()
            graphs.append((graph, result))
        times = ([], [], [])
        for _ in range(7):
            for (graph, _), row in zip(graphs, times):
                row.append(timed(graph.replay)[0])
        old, new, casts = (statistics.median(row) for row in times)
        a, b = (result.double() for _, result in graphs[:2])
        off = ((a - b).abs().max() / a.abs().max()).item()
        print(f"cast,{size},{old:.3f},{new:.3f},{1 - (old - new) / casts:.3f},{off:.1e}", flush=True)


def block_masks():
    from torch.nn.attention.flex_attention import create_block_mask
    compiled = torch.compile(create_block_mask)
    for length in (8192, 16384, 32768):
        docs = torch.arange(length, device=DEVICE) // 700

        def same_document(b, h, q, k):
            return (q >= k) & (docs[q] == docs[k])

        def make(create):
            return create(same_document, None, None, length, length, device=DEVICE).kv_num_blocks

        compare("block mask", length, lambda: make(create_block_mask), lambda: make(compiled))


PARTS = {part.__name__: part for part in (convolutions, whole_sorts, factorisations, attentions, weight_casts, block_masks)}
print("pair,size,before_ms,after_ms,stays,off")
for name in sys.argv[1:] or PARTS:
    PARTS[name]()
print(torch.cuda.get_device_name(), torch.__version__, file=sys.stderr)
