"""Records a Lightning run in float16: python3 examples/lightning_callback.py run.ulp"""

import sys

import torch
from lightning.pytorch import LightningModule, Trainer

from ulpscope.lightning import RecorderCallback


class Regression(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))

    def training_step(self, batch, index):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


if __name__ == "__main__":
    inputs = torch.randn(4096, 8)
    data = torch.utils.data.TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    batches = torch.utils.data.DataLoader(data, 64)
    precision = "16-mixed" if torch.cuda.is_available() else "32-true"
    trainer = Trainer(max_epochs=1, precision=precision, callbacks=[RecorderCallback(sys.argv[1])])
    trainer.fit(Regression(), batches)
