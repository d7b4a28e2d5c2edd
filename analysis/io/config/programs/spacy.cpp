// spaCy's config.cfg: explosion/spacy-transformers spacy_transformers/layers/hf_shim.py (the scaler is on with mixed_precision, unless
// grad_scaler_config says otherwise), explosion/thinc @0016a000 thinc/shims/pytorch_grad_scaler.py (torch's rules and defaults),
// thinc/optimizers.py (grad_clip is of each parameter).
#include "rows.hpp"

namespace ulp::io {

program_row spacy_program() {
  return {.name = "spaCy",
          .markers = "nlp.pipeline nlp.lang components.transformer.model",
          .keys = {.read = "training.optimizer.grad_clip",
                   .not_read = "paths system nlp corpora initialize pretraining training.score_weights"},
          .defaults =
              "components.transformer.model.mixed_precision=false "
              "components.transformer.model.grad_scaler_config.enabled=true",
          .precision = {{.when = "!components.transformer.model",
                         .refused = "is not given: without a component of that name nothing is known of its precision; "
                                    "give --scaler and --format"},
                        {.when = "components.transformer.model.mixed_precision=false",
                         .format = "float32",
                         .weights = "float32",
                         .meaning = in_float32},
                        {.when = "components.transformer.model.mixed_precision=true "
                                 "components.transformer.model.grad_scaler_config.enabled=false",
                         .format = "float16",
                         .weights = "float32",
                         .meaning = "autocast to float16, the loss is not scaled"},
                        torch_scaled("components.transformer.model.mixed_precision=true",
                                     "autocast to float16 with thinc's PyTorchGradScaler, which has torch's rules")},
          .scale = {{"pytorch_gradscaler", "components.transformer.model.grad_scaler_config.init_scale", "init_scale",
                     "scale of the first step"},
                    {"pytorch_gradscaler", "components.transformer.model.grad_scaler_config.growth_factor",
                     "growth_factor", "factor of growth"},
                    {"pytorch_gradscaler", "components.transformer.model.grad_scaler_config.backoff_factor",
                     "backoff_factor", "factor of backoff"},
                    {"pytorch_gradscaler", "components.transformer.model.grad_scaler_config.growth_interval",
                     "growth_interval", "good steps in a row before the scale grows"}},
          .clipping = {{}},
          .microbatches = "training.accumulate_gradient",
          .remarks = {{.when = "training.optimizer.grad_clip",
                       .text = "each parameter is clipped by itself (training.optimizer.grad_clip), which is not "
                               "replayed"}},
          .place = written_in::files};
}

}  // namespace ulp::io
