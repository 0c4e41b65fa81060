# SPDX-License-Identifier: Apache-2.0
"""A small network that splits a cloud of points into strokes, with what made its training slow left in on purpose."""
import torch
import triton
import triton.language as tl
from scipy.optimize import linear_sum_assignment
from torch import nn

MAX_STROKES = 8
QUERIES = 8
WIDTH = 256


def farthest_point_sampling(points, count):
    """Each chosen point is the one farthest from all before it: a loop of tiny kernels."""
    batch, total, _ = points.shape
    rows = torch.arange(batch, device=points.device)
    chosen = torch.zeros(batch, count, dtype=torch.long, device=points.device)
    distance = torch.full((batch, total), 1e10, device=points.device)
    farthest = torch.zeros(batch, dtype=torch.long, device=points.device)
    for i in range(count):
        chosen[:, i] = farthest
        centre = points[rows, farthest].unsqueeze(1)
        distance = torch.minimum(distance, (points - centre).square().sum(-1))
        farthest = distance.argmax(-1)
    return chosen


@triton.jit
def fps_kernel(points, chosen, count, total: tl.constexpr):
    batch = tl.program_id(0)
    offsets = tl.arange(0, total)
    base = points + batch * total * 3
    x = tl.load(base + offsets * 3)
    y = tl.load(base + offsets * 3 + 1)
    z = tl.load(base + offsets * 3 + 2)
    distance = tl.full((total,), 1e10, tl.float32)
    farthest = tl.argmax(distance, 0)
    for i in range(count):
        tl.store(chosen + batch * count + i, farthest.to(tl.int64))
        dx = x - tl.load(base + farthest * 3)
        dy = y - tl.load(base + farthest * 3 + 1)
        dz = z - tl.load(base + farthest * 3 + 2)
        distance = tl.minimum(distance, dx * dx + dy * dy + dz * dz)
        farthest = tl.argmax(distance, 0)


def farthest_point_sampling_in_one_kernel(points, count):
    batch, total, _ = points.shape
    chosen = torch.empty(batch, count, dtype=torch.long, device=points.device)
    fps_kernel[(batch,)](points, chosen, count, total=total)
    return chosen


def build_target_masks(labels, n_strokes_per, constant_size):
    """One row of ones and zeros per stroke."""
    if constant_size:
        max_n = MAX_STROKES
    else:
        max_n = max(int(n_strokes_per.max().item()), 1)
    numbers = torch.arange(max_n, device=labels.device).view(1, -1, 1)
    valid = numbers[..., 0] < n_strokes_per.unsqueeze(-1)
    return (labels.unsqueeze(1) == numbers).float(), valid


def compute_mask_loss(masks, targets, stroke_valid, unconditional):
    if not unconditional:
        if not stroke_valid.any():
            return masks.sum() * 0.0
    size = targets.shape[1]
    loss = nn.functional.binary_cross_entropy_with_logits(masks[:, :size], targets, reduction="none").mean(-1)
    return (loss * stroke_valid).sum() / stroke_valid.sum().clamp(min=1)


def match_on_host(costs):
    """The cheapest assignment of queries to strokes, sample by sample, on the CPU."""
    return torch.stack([torch.as_tensor(linear_sum_assignment(cost)[1]) for cost in costs.detach().float().cpu().numpy()])


def match_on_device(costs):
    """Greedily, for the whole batch at once."""
    batch, queries, _ = costs.shape
    left = costs.detach().clone()
    result = torch.zeros(batch, queries, dtype=torch.long, device=costs.device)
    rows = torch.arange(batch, device=costs.device)
    for _ in range(queries):
        flat = left.flatten(1).argmin(-1)
        query, stroke = flat // left.shape[2], flat % left.shape[2]
        result[rows, query] = stroke
        left[rows, query] = 1e10
        left[rows, :, stroke] = 1e10
    return result


class StrokeNet(nn.Module):
    def __init__(self, centres, sample):
        super().__init__()
        self.centres = centres
        self.sample = sample
        self.lift = nn.Sequential(nn.Linear(3, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        block = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.refiner = nn.TransformerEncoder(block, 4, enable_nested_tensor=False)
        self.queries = nn.Parameter(torch.randn(QUERIES, WIDTH))

    def coarse(self, points):
        chosen = self.sample(points, self.centres)
        centres = torch.gather(points, 1, chosen.unsqueeze(-1).expand(-1, -1, 3))
        tokens = self.encoder(self.lift(centres))
        return tokens, torch.cdist(self.queries.expand(len(points), -1, -1), tokens).topk(MAX_STROKES, largest=False).values

    def masks(self, points, tokens):
        every = self.lift(points) + tokens.mean(1, keepdim=True)
        refined = self.refiner(every)
        return torch.einsum("qw,bnw->bqn", self.queries, refined)
