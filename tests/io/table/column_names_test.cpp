// Names of columns as tools write them. Where each is from, table/known_names.hpp says.
#include "table/column_names.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp::io;
using m = column_meaning;

TEST_CASE("column names: what tools write") {
  for (const auto& [name, means] :
       std::vector<std::pair<std::string, m>>{{"_step", m::step},
                                              {"Step", m::step},
                                              {"trainer/global_step", m::step},
                                              {"train/global_step", m::step},
                                              {"time/total_timesteps", m::step},
                                              {"iter", m::step},
                                              {"Epoch", m::epoch},
                                              {"Overflow?", m::found_inf},
                                              {"train/loss", m::loss},
                                              {"train_loss_step", m::loss},
                                              {"Loss/train", m::loss},
                                              {"loss/train/total", m::loss},
                                              {"trainLoss", m::loss},
                                              {"reduced_train_loss", m::loss},
                                              {"loss_metrics/global_avg_loss", m::loss},
                                              {"lm-loss-training/lm loss", m::loss},
                                              {"brisk-sun-12 - train/loss", m::loss},
                                              {"train/CrossEntropyLoss", m::loss},
                                              {"grad-norm", m::grad_norm},
                                              {"grad_2.0_norm_total", m::grad_norm},
                                              {"l2_norm/grad/global", m::grad_norm},
                                              {"Gradients/total_norm_rank0", m::grad_norm},
                                              {"actor/grad_norm", m::grad_norm},
                                              {"optim/total_grad_norm", m::grad_norm},
                                              {"lr-AdamW/pg1", m::learning_rate},
                                              {"lr/pg0", m::learning_rate},
                                              {"x/lr0", m::learning_rate},
                                              {"LearningRate/step", m::learning_rate},
                                              {"Train/Samples/loss_scale", m::loss_scale},
                                              {"AMP/grad_scale", m::loss_scale},
                                              {"Train/GradScaler_Scale", m::loss_scale},
                                              {"optimizer_step_skipped", m::found_inf},
                                              {"number of skipped iterations", m::skipped}}) {
    INFO(name);
    REQUIRE(reading_of(name));
    CHECK(reading_of(name)->means == means);
    CHECK_FALSE(reading_of(name)->of_validation);
  }
}

TEST_CASE("column names: validation, epochs and parts are told apart") {
  for (const char* const name : {"val/loss", "val_loss", "eval/loss", "test_loss", "valid_loss", "epoch_val_loss"}) {
    INFO(name);
    CHECK(reading_of(name)->of_validation);
  }
  CHECK(reading_of("train_loss_epoch")->of_epoch);
  CHECK(reading_of("train/box_loss")->is_part);
  CHECK(reading_of("train/loss") < reading_of("train_loss_epoch"));
  CHECK(reading_of("train_loss_epoch") < reading_of("train/box_loss"));
  CHECK(reading_of("train/box_loss") < reading_of("val/loss"));
  CHECK(reading_of("train/global_step") < reading_of("_step"));
}

TEST_CASE("column names: settings and other things are not taken") {
  for (const char* const name : {"max_grad_norm", "loss_scale_window", "scale_loss", "guidance_scale", "params_norm",
                                 "exp1 - train/loss__MIN", "lm loss vs samples", "grad_norm/layer1.weight"}) {
    INFO(name);
    CHECK_FALSE(reading_of(name));
  }
  CHECK(looks_important("guidance_scale"));
  CHECK_FALSE(looks_important("accuracy"));
}
