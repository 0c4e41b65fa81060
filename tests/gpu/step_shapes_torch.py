# SPDX-License-Identifier: Apache-2.0
"""Loops in PyTorch whose steps are known and that nobody annotated: step_shapes_torch.py SHAPE. The last line tells
them (tests/programs/step_shapes/truth.py). Random data; run by step_shapes.py."""
import io
import queue
import random
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from truth import Phase, host_work, tell

DEVICE = "cuda"
WORDS = 512


def classifier(blocks=6, width=64):
    layers = [nn.Conv2d(3, width, 3, padding=1)]
    for _ in range(blocks):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)).to(DEVICE)


def images(batches, workers=0, size=32):
    data = TensorDataset(torch.randn(batches * size, 3, 32, 32), torch.randint(10, (batches * size,)))
    return DataLoader(data, batch_size=size, num_workers=workers, pin_memory=True)


def on_device(batch):
    return [each.to(DEVICE, non_blocking=True) for each in batch]


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for each in self.qkv(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Experts(nn.Module):
    """The host reads how many tokens each expert has."""

    def __init__(self, width, count=4):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, x):
        flat = x.flatten(0, 1)
        scores = self.gate(flat).softmax(-1)
        choice = scores.argmax(-1)
        counts = torch.bincount(choice, minlength=len(self.experts)).tolist()
        order = choice.argsort()
        parts = [expert(part) for expert, part in zip(self.experts, flat[order].split(counts))]
        back = torch.cat(parts)[order.argsort()] * scores.amax(-1, keepdim=True)
        return x + back.view_as(x)


class LanguageModel(nn.Module):
    def __init__(self, depth, width=256, experts=False):
        super().__init__()
        self.embedding, self.norm, self.head = nn.Embedding(WORDS, width), nn.LayerNorm(width), nn.Linear(width, WORDS)
        blocks = [[Block(width)] + [Experts(width)] * experts for _ in range(depth)]
        self.blocks = nn.ModuleList(each for group in blocks for each in group)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def loss(self, tokens):
        return F.cross_entropy(self(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    def next_token(self, tokens):
        return torch.multinomial(self(tokens)[:, -1].softmax(-1), 1)


def language_model(depth, **more):
    return LanguageModel(depth, **more).to(DEVICE)


def text(size=16, length=65):
    return torch.randint(WORDS, (size, length)).pin_memory().to(DEVICE, non_blocking=True)


def save(*models):
    torch.save([model.state_dict() for model in models], io.BytesIO())


def function_loop():
    model, phase = classifier(), Phase("function loop", __file__)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for batch in images(120):  # loop: function loop
            x, y = on_device(batch)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            phase.step()
    torch.cuda.synchronize()


def steps_of(model, loader, optimizer):
    for batch in loader:  # loop: generator
        x, y = on_device(batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss


def generator_loop():
    model, phase = classifier(), Phase("generator", __file__)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for step, loss in enumerate(steps_of(model, images(100), optimizer)):  # loop: generator
            if step % 20 == 19:
                loss.item()
            phase.step()


class Trainer:
    def __init__(self, hooks):
        self.hooks, self.phase = hooks, Phase("trainer", __file__)

    def call(self, name, *arguments):
        for hook in self.hooks:
            getattr(hook, name, lambda *unused: None)(*arguments)

    def fit(self, module, loader):
        self.optimizer = torch.optim.AdamW(module.model.parameters())
        with self.phase:
            for index, batch in enumerate(loader):  # loop: trainer
                self.call("on_batch_begin", index)
                loss = self.run_batch(module, on_device(batch))
                self.call("on_batch_end", index, loss)
                self.phase.step()

    def run_batch(self, module, batch):  # loop: trainer
        self.optimizer.zero_grad()
        loss = module.training_step(*batch)
        loss.backward()
        self.optimizer.step()
        return loss


class Module:
    def __init__(self):
        self.model = classifier()

    def training_step(self, x, y):
        return F.cross_entropy(self.model(x), y)


class Progress:
    def on_batch_end(self, index, loss):
        if index % 10 == 9:
            self.shown = loss.item()


def trainer_callbacks():
    Trainer([Progress()]).fit(Module(), images(120))


def mnist():
    model = classifier(3)
    optimizer = torch.optim.AdamW(model.parameters())
    training, testing = Phase("mnist train", __file__), Phase("mnist test", __file__)
    loader, test_loader = images(100, workers=1), images(40, workers=1)
    for _ in range(2):
        model.train()
        with training:
            for index, batch in enumerate(loader):  # loop: mnist train
                x, y = on_device(batch)
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                if index % 10 == 0:
                    print(f"{index}: {loss.item():.3f}")
                training.step()
        model.eval()
        right, lost = 0, 0.0
        with testing, torch.no_grad():
            for batch in test_loader:  # loop: mnist test
                x, y = on_device(batch)
                output = model(x)
                lost += F.cross_entropy(output, y).item()
                right += (output.argmax(1) == y).sum().item()
                testing.step()


def dcgan():
    generator = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
                              nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
                              nn.Conv2d(64, 3, 3, padding=1), nn.Tanh()).to(DEVICE)
    critic = classifier(4)
    optimizer_g, optimizer_d = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    phase, loader = Phase("dcgan", __file__), images(20, workers=2)
    for epoch in range(5):
        with phase:
            for index, batch in enumerate(loader):  # loop: dcgan
                real, label = on_device(batch)
                critic.zero_grad()
                loss_real = F.cross_entropy(critic(real), label)
                loss_real.backward()
                fake = generator(torch.randn(real.shape, device=DEVICE))
                loss_fake = F.cross_entropy(critic(fake.detach()), label)
                loss_fake.backward()
                optimizer_d.step()
                generator.zero_grad()
                loss_g = F.cross_entropy(critic(fake), label)
                loss_g.backward()
                optimizer_g.step()
                print(f"[{epoch}][{index}] {loss_real.item():.3f} {loss_fake.item():.3f} {loss_g.item():.3f}")
                phase.step()
        save(generator, critic)


def imagenet():
    model = classifier(12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    training, validation = Phase("imagenet train", __file__), Phase("imagenet validate", __file__)
    loader, validation_loader = images(80, workers=4), images(25, workers=4)
    for _ in range(3):
        model.train()
        with training:
            for index, batch in enumerate(loader):  # loop: imagenet train
                x, y = on_device(batch)
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if index % 10 == 0:
                    print(f"{index}: {loss.item():.3f}")
                training.step()
        model.eval()
        with validation, torch.no_grad():
            for batch in validation_loader:  # loop: imagenet validate
                x, y = on_device(batch)
                output = model(x)
                F.cross_entropy(output, y).item()
                (output.argmax(1) == y).sum().item()
                validation.step()
        save(model)


@torch.no_grad()
def estimate_loss(model, phase):
    model.eval()
    with phase:
        for _ in ("train", "val"):
            for _ in range(20):  # loop: nanogpt evaluate
                model.loss(text()).item()
                phase.step()
    model.train()


def nanogpt():
    model, micro_steps = language_model(6), 4
    optimizer = torch.optim.AdamW(model.parameters())
    training = Phase("nanogpt train", __file__, micro_steps=micro_steps)
    evaluation = Phase("nanogpt evaluate", __file__)
    step, batch = 0, text()
    with training:
        while True:  # loop: nanogpt train
            if step % 30 == 0:
                estimate_loss(model, evaluation)
            if step == 90:
                break
            for _ in range(micro_steps):
                loss = model.loss(batch) / micro_steps
                batch = text()
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if step % 10 == 0:
                print(f"iter {step}: loss {loss.item() * micro_steps:.4f}")
            training.step()
            step += 1


def accumulate_modulo():
    model, phase = classifier(), Phase("accumulate", __file__, micro_steps=4)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for i, batch in enumerate(images(240)):  # loop: accumulate
            x, y = on_device(batch)
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
                phase.step()
            if i % 40 == 39:
                print(f"{i}: {loss.item():.3f}")


def evaluate(model, loader, phase):
    with phase, torch.no_grad():
        for batch in loader:  # loop: inside evaluate
            x, y = on_device(batch)
            (model(x).argmax(1) == y).sum().item()
            phase.step()


def evaluation_inside():
    model = classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    training, evaluation = Phase("inside train", __file__), Phase("inside evaluate", __file__)
    with training:
        for step, batch in enumerate(images(200)):  # loop: inside train
            x, y = on_device(batch)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            training.step()
            if step % 50 == 49:
                evaluate(model, images(30), evaluation)


def sampling_inside():
    model = language_model(6)
    optimizer = torch.optim.AdamW(model.parameters())
    training, generation = Phase("sampling train", __file__), Phase("sampling generate", __file__)
    with training:
        for step in range(1, 121):  # loop: sampling train
            loss = model.loss(text())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            training.step()
            if step % 40 == 0:
                tokens = text(1, 16)
                with generation, torch.no_grad():
                    for _ in range(40):  # loop: sampling generate
                        token = model.next_token(tokens)
                        tokens = torch.cat([tokens, token], 1)
                        token.item()
                        generation.step()


@torch.no_grad()
def decode_read():
    model, phase = language_model(24), Phase("decode, read", __file__)
    for length in (50, 70, 60):
        tokens, said = text(1, 16), []
        with phase:
            for _ in range(length):  # loop: decode, read
                token = model.next_token(tokens)
                tokens = torch.cat([tokens, token], 1)
                said.append(token.item())
                phase.step()


@torch.no_grad()
def decode_no_read():
    model, phase = language_model(24), Phase("decode, no read", __file__)
    for length in (50, 70, 60):
        tokens = text(1, 16)
        with phase:
            for _ in range(length):  # loop: decode, no read
                tokens = torch.cat([tokens, model.next_token(tokens)], 1)
                phase.step()
        tokens.cpu()


def mixture_of_experts():
    model, phase = language_model(6, experts=True), Phase("experts", __file__)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(60):  # loop: experts
            model.loss(text()).backward()
            optimizer.step()
            optimizer.zero_grad()
            phase.step()


def reinforcement():
    policy = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 4)).to(DEVICE)
    optimizer = torch.optim.AdamW(policy.parameters())
    rollout, update = Phase("roll out", __file__), Phase("update", __file__)
    for _ in range(6):
        seen, observation = [], torch.randn(16, 32)
        with rollout, torch.no_grad():
            for _ in range(60):  # loop: roll out
                state = observation.to(DEVICE)
                action = torch.multinomial(policy(state).softmax(-1), 1).cpu()
                host_work(1)
                observation = torch.randn(16, 32) + action
                seen.append(state)
                rollout.step()
        states = torch.cat(seen)
        with update:
            for _ in range(4):
                for part in states.split(240):  # loop: update
                    optimizer.zero_grad()
                    policy(part).log_softmax(-1).square().mean().backward()
                    optimizer.step()
                    update.step()


def unfused_optimizer():
    model, phase = classifier(24, 32), Phase("unfused", __file__)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False, fused=False)
    with phase:
        for batch in images(80):  # loop: unfused
            x, y = on_device(batch)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            phase.step()
    torch.cuda.synchronize()


def variable_shapes():
    model, phase = language_model(6), Phase("variable", __file__)
    optimizer, lengths = torch.optim.AdamW(model.parameters()), random.Random(5)
    with phase:
        for _ in range(120):  # loop: variable
            tokens = torch.randint(WORDS, (8, lengths.randrange(17, 257))).to(DEVICE)
            loss = model.loss(tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            phase.step()


def prefetch_thread():
    model, phase = classifier(), Phase("prefetch", __file__)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ready, side = queue.Queue(maxsize=4), torch.cuda.Stream()

    def load():
        for batch in images(120):
            with torch.cuda.stream(side):
                moved = on_device(batch)
            ready.put((moved, side.record_event()))
        ready.put(None)

    thread = threading.Thread(target=load)
    thread.start()
    with phase:
        while (item := ready.get()) is not None:  # loop: prefetch
            (x, y), copied = item
            torch.cuda.current_stream().wait_event(copied)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            phase.step()
    thread.join()
    torch.cuda.synchronize()


SHAPES = {each.__name__: each for each in (
    function_loop, generator_loop, trainer_callbacks, mnist, dcgan, imagenet, nanogpt, accumulate_modulo,
    evaluation_inside, sampling_inside, decode_read, decode_no_read, mixture_of_experts, reinforcement,
    unfused_optimizer, variable_shapes, prefetch_thread)}
torch.manual_seed(0)
if sys.argv[1] == "module_loop":
    model, total = classifier(), 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    phase = Phase("module loop", __file__)
    with phase:
        for batch in images(120):  # loop: module loop
            x, y = on_device(batch)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            phase.step()
else:
    SHAPES[sys.argv[1]]()
tell()
