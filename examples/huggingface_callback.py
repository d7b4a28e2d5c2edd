"""Records a run of the Hugging Face Trainer, in float16 on a GPU: python3 examples/huggingface_callback.py run.ulp"""

import sys

import torch
from transformers import Trainer, TrainingArguments

from ulpscope.transformers import RecorderCallback


class Regression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))

    def forward(self, inputs, labels):
        outputs = self.layers(inputs)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "outputs": outputs}


if __name__ == "__main__":
    inputs = torch.randn(4096, 8)
    data = [{"inputs": x, "labels": x.sin().sum(0, keepdim=True)} for x in inputs]
    arguments = TrainingArguments("huggingface_run", max_steps=60, fp16=torch.cuda.is_available(), report_to="none")
    trainer = Trainer(Regression(), arguments, train_dataset=data)
    trainer.add_callback(RecorderCallback(sys.argv[1], trainer))
    trainer.train()
