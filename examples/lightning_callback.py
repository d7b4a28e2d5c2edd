"""Records a Lightning run: Trainer(callbacks=[RecorderCallback("run.ulp")]).

Copy this file and python/ulp_recorder.py into the job.
"""

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from ulp_recorder import Recorder


class RecorderCallback(Callback):
    """Options are those of Recorder."""

    def __init__(self, path, **options):
        self.path, self.options = path, options
        self.recorder = self.loss = None

    def on_train_start(self, trainer, pl_module):
        self.recorder = Recorder(self.path, pl_module, **self.options)

    def on_before_backward(self, trainer, pl_module, loss):
        self.loss = loss  # multiplied by the loss scale already

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        # Gradients are unscaled by now, where there is a scaler, and not yet clipped.
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        scale = 1.0 if scaler is None else scaler.get_scale()
        lr = optimizer.param_groups[0]["lr"]
        self.recorder.step(trainer.global_step, loss=self.loss / scale, loss_scale=scale, scaled=False, lr=lr)
        self.loss = None

    def on_train_end(self, trainer, pl_module):
        self.recorder.close()
