"""Records a run of the Hugging Face Trainer:

    trainer = Trainer(...)
    trainer.add_callback(RecorderCallback("run.ulp", trainer))
"""

from transformers import TrainerCallback

from ._recorder import Recorder


class RecorderCallback(TrainerCallback):
    """Options are those of Recorder. Needs transformers. The event before the optimizer's step comes after clipping: so
    gradients are recorded at the end of the last training_step() of an update, as backward leaves them."""

    def __init__(self, path, trainer, **options):
        self.path, self.trainer, self.options = path, trainer, options

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        recorder = self.recorder = Recorder(self.path, model, **self.options)
        trainer, training_step = self.trainer, self.trainer.training_step

        def recorded(*arguments, **named):
            loss = training_step(*arguments, **named)
            if trainer.accelerator.sync_gradients:
                scaler = trainer.accelerator.scaler
                scale = 1.0 if scaler is None else scaler.get_scale()
                recorder.step(state.global_step, loss=loss, loss_scale=scale)
            return loss

        trainer.training_step = recorded

    def on_train_end(self, args, state, control, **kwargs):
        del self.trainer.training_step  # the class has the one before
        self.recorder.close()
