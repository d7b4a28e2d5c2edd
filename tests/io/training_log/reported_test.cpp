// Pins what is read of the logs that people brought, where they are at hand: beside the project, in shared/data/reports. What
// is right is in its INDEX.csv; these are its numbers.
#include <cmath>
#include <filesystem>
#include <iostream>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr std::int64_t none = -1;

struct facts {
  std::string file;
  std::size_t overflows = 0;       // steps with gradients that were not finite
  std::size_t skipped = 0;         // of them
  double first_scale = not_known;  // at which one was skipped, as far as it is certain; of lines in order too
  double last_scale = not_known;
  std::int64_t lost = none;  // the first step whose loss is NaN or infinite
  std::int64_t first = none;
  std::int64_t last = none;  // steps of the log
};

const std::vector<facts> reports{
    {"01_icefall_collapse.log", 15, 15, not_known, not_known, none, 13500, 14300},
    {"03_mindyolo_stillupdate.log", 6, 0, not_known, not_known, none, 100, 600},
    {"04_paddle_foundinf.log", 40, 40, not_known, not_known, none, 0, 376},
    {"05_sharnn_apex.log", 28, 28, 256, 0.5, 121100, 121080, 121121},
    {"06_swin_glued.log", 1, 1, not_known, not_known, none, 2156, 2205},
    {"06b_swin_caret.log", 1, 1, not_known, not_known, none, 2156, 2205},
    {"07_lmops_ds.log", 11, 11, 2048, 2, none, 9, 25},
    {"09_mmengine_detr.log", 7, 0, not_known, not_known, none, 50, 500},
    {"10_scnet_epochs.log", 3, 0, not_known, not_known, 4, 1, 5},
    {"11_deepspeed_fused_floor.log", 8, 8, 8, 1, none, 4, 11},
    {"12_apex_two_ranks.log", 24, 24, 0x1p-999, 0x1p-1022, none, 1, 24},
    {"13_bridge_bf16_mtp.log", 0, 0, not_known, not_known, none, 2, 9},
    {"13b_bridge_long.log", 0, 0, not_known, not_known, none, 1, 120},
    {"14_titan_fp8_nan.log", 8, 0, not_known, not_known, 3, 1, 10},
    {"15_verl_gradnan.log", 8, 0, not_known, not_known, none, 1, 8},
    {"16_yolov5_nan.log", 4, 0, not_known, not_known, 0, 0, 3},
    {"18_mae_inf_norm.log", 1, 1, not_known, not_known, none, 31254, 31315},
    {"19_apex_val_spike.log", 8, 8, not_known, not_known, none, 6312, 8416},
    {"20_keras_fit.log", 4, 0, not_known, not_known, 1, 1, 4},
    {"21_lightning_bar.log", 1, 0, not_known, not_known, 6, 1, 12},  // a mean of 20 steps, which keeps the first NaN
    {"29_timemoe_dict.log", 2, 0, not_known, not_known, none, 1, 12},
    {"60_mmdet_zero_loss.log", 5, 0, not_known, not_known, none, 198000, 198300},
    {"63_lightningdot.log", 3, 3, not_known, not_known, none, 1483, 1507},
    {"64_diffusers_bar.log", 11, 0, not_known, not_known, 5, 1, 15},
    {"67_metaseq_json.log", 1, 1, 16, 16, none, 293, 352},
    {"68_ds_printed_config.log", 2, 2, 65536, 65536, none, 1, 12},
};

bool is_lost(double x, bool is_nan) { return is_nan || std::isinf(x); }

}  // namespace

TEST_CASE("reported logs: overflows, scales and the first lost step") {
  if (shared_dir().empty()) return;
  const std::filesystem::path folder = shared_dir() / "data" / "reports";
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "SKIPPED: " << folder.string() << " is absent\n";
    return;
  }
  for (const facts& f : reports) {
    INFO(f.file);
    const auto log = open_source({(folder / f.file).string()});
    CHECK(log->unread_records() == 0);
    const contents read = read_all(*log);
    std::size_t overflows = 0;
    std::vector<double> scales;
    std::size_t skipped = 0;
    std::int64_t lost = none;
    for (const step& s : read.steps) {
      overflows += s.scalars.found_inf.value_or(false) ? 1 : 0;
      skipped += s.scalars.applied == false ? 1 : 0;
      if (s.scalars.applied == false && !std::isnan(s.scalars.loss_scale)) scales.push_back(s.scalars.loss_scale);
      if (lost == none && is_lost(s.scalars.loss, s.scalars.loss_is_nan)) lost = s.key.step;
    }
    CHECK(overflows == f.overflows);
    CHECK(skipped == f.skipped);
    CHECK(lost == f.lost);
    REQUIRE_FALSE(read.steps.empty());
    CHECK(read.steps.front().key.step == f.first);
    CHECK(read.steps.back().key.step == f.last);
    if (std::isnan(f.first_scale)) continue;
    REQUIRE_FALSE(scales.empty());
    CHECK(scales.front() == f.first_scale);
    CHECK(scales.back() == f.last_scale);
  }
}
