"""Records a Lightning run: Trainer(callbacks=[RecorderCallback("run.ulp")])."""

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from ._recorder import Recorder


def _unscales_in_its_step(optimizer, scaler):
    """As fused optimizers do: Lightning unscales the gradients of all others before the hook."""
    stage = getattr(scaler, "_per_optimizer_states", {}).get(id(optimizer), {}).get("stage")
    was_unscaled = getattr(stage, "name", "") == "UNSCALED"
    return not was_unscaled and getattr(optimizer, "_step_supports_amp_scaling", False)


class RecorderCallback(Callback):
    """Options are those of Recorder. Needs lightning or pytorch_lightning."""

    def __init__(self, path, **options):
        self.path, self.options = path, options
        self.recorder = self.loss = None

    def on_train_start(self, trainer, pl_module):
        self.recorder = Recorder(self.path, pl_module, **self.options)

    def on_before_backward(self, trainer, pl_module, loss):
        self.loss = loss  # multiplied by the loss scale already

    def on_before_optimizer_step(self, trainer, pl_module, optimizer, *index):  # which Lightning 1 adds
        if self.loss is None and all(parameter.grad is None for parameter in pl_module.parameters()):
            return  # training_step gave no loss, which skips the batch, and not this hook
        # Gradients are not yet clipped. On a TPU there is no scaler, even with 16-mixed.
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        scale = 1.0 if scaler is None else scaler.get_scale()
        scaled = scaler is not None and _unscales_in_its_step(optimizer, scaler)
        lr = optimizer.param_groups[0]["lr"]
        loss = None if self.loss is None else self.loss / scale  # of a second optimizer there may be none
        self.recorder.step(trainer.global_step, loss=loss, loss_scale=scale, scaled=scaled, lr=lr)
        self.loss = None

    def on_train_end(self, trainer, pl_module):
        self.recorder.close()
