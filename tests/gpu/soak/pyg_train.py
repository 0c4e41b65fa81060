# SPDX-License-Identifier: Apache-2.0
"""Two graph convolutions of PyTorch Geometric, on graphs in batches from a loader."""
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = GCNConv(16, 64), GCNConv(64, 64), torch.nn.Linear(64, 4)

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        x = self.second(x, data.edge_index).relu()
        return self.last(global_mean_pool(x, data.batch))


def main():
    torch.manual_seed(0)
    graphs = [Data(x=torch.randn(30, 16), edge_index=torch.randint(0, 30, (2, 120)), y=torch.tensor([i % 4])) for i in range(1024)]
    model, steps, total = Net().cuda(), 0, 0.0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for batch in DataLoader(graphs, batch_size=32, shuffle=True, num_workers=2):
            batch = batch.to("cuda")
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            steps += 1
    print("ok", steps, total / steps < 2)


if __name__ == "__main__":
    main()
