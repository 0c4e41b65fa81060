# SPDX-License-Identifier: Apache-2.0
"""A one-stage detector with a ResNet-18 and a feature pyramid trains on made-up images of 512 x 512 in float32. The boxes are
matched to the anchors by hand on the GPU, and the focal loss is written by hand. The GPU is busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

BATCH, BATCHES, SIZE, CLASSES, STRIDES = 16, 8, 512, 80, (8, 16, 32)


def make_head(outputs):
    layers = [layer for _ in range(3) for layer in (nn.Conv2d(256, 256, 3, padding=1), nn.ReLU())]
    return nn.Sequential(*layers, nn.Conv2d(256, 3 * outputs, 3, padding=1))


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        net = torchvision.models.resnet18()
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1)
        self.stages = nn.ModuleList([net.layer2, net.layer3, net.layer4])
        self.lateral = nn.ModuleList([nn.Conv2d(width, 256, 1) for width in (128, 256, 512)])
        self.classify, self.regress = make_head(CLASSES), make_head(4)
        nn.init.constant_(self.classify[-1].bias, -4.6)

    def forward(self, x):
        x, maps = self.stem(x), []
        for stage, lateral in zip(self.stages, self.lateral):
            x = stage(x)
            maps.append(lateral(x))
        for level in (1, 0):
            maps[level] = maps[level] + F.interpolate(maps[level + 1], scale_factor=2)
        scores = [self.classify(each).permute(0, 2, 3, 1).reshape(len(x), -1, CLASSES) for each in maps]
        offsets = [self.regress(each).permute(0, 2, 3, 1).reshape(len(x), -1, 4) for each in maps]
        return torch.cat(scores, dim=1), torch.cat(offsets, dim=1)


def make_anchors():
    anchors = []
    for stride in STRIDES:
        centre = (torch.arange(SIZE // stride) + 0.5) * stride
        y, x = torch.meshgrid(centre, centre, indexing="ij")
        shapes = 4 * stride * torch.tensor([[0.7, 1.4], [1.0, 1.0], [1.4, 0.7]])
        places = torch.stack([x, y], dim=-1).view(-1, 1, 2)
        anchors.append(torch.cat([places - shapes / 2, places + shapes / 2], dim=-1).view(-1, 4))
    return torch.cat(anchors).cuda()


def area(boxes):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def iou(anchors, boxes):
    low = torch.maximum(anchors[None, :, None, :2], boxes[:, None, :, :2])
    high = torch.minimum(anchors[None, :, None, 2:], boxes[:, None, :, 2:])
    overlap = (high - low).clamp(min=0).prod(dim=-1)
    return overlap / (area(anchors)[None, :, None] + area(boxes)[:, None, :] - overlap)


def detection_loss(scores, offsets, anchors, boxes, labels):
    best, index = iou(anchors, boxes).max(dim=2)
    positive = (best > 0.5).float().unsqueeze(-1)
    counted = 1 - ((best > 0.4) & (best <= 0.5)).float().unsqueeze(-1)
    count = positive.sum().clamp(min=1)
    classes = torch.arange(CLASSES, device=scores.device)
    target = (labels.gather(1, index).unsqueeze(-1) == classes).float() * positive
    probability = torch.sigmoid(scores)
    right = probability * target + (1 - probability) * (1 - target)
    alpha = 0.25 * target + 0.75 * (1 - target)
    focal = alpha * (1 - right) ** 2 * F.binary_cross_entropy_with_logits(scores, target, reduction="none")
    matched = boxes.gather(1, index.unsqueeze(-1).expand(-1, -1, 4))
    wanted = (matched - anchors) / area(anchors).sqrt().unsqueeze(-1)
    distance = F.smooth_l1_loss(offsets, wanted, reduction="none") * positive
    return (focal * counted).sum() / count + distance.sum() / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Detector().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    anchors = make_anchors()
    images = torch.randn(BATCHES * BATCH, 3, SIZE, SIZE, device="cuda")
    corners = torch.rand(BATCHES * BATCH, 20, 2, device="cuda") * SIZE * 0.7
    boxes = torch.cat([corners, corners + 24 + 120 * torch.rand(BATCHES * BATCH, 20, 2, device="cuda")], dim=-1)
    labels = torch.randint(0, CLASSES, (BATCHES * BATCH, 20), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        rows = slice(step % BATCHES * BATCH, (step % BATCHES + 1) * BATCH)
        scores, offsets = model(images[rows])
        loss = detection_loss(scores, offsets, anchors, boxes[rows], labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
