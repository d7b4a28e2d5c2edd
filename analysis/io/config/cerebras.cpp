// The Cerebras Trainer's YAML: Cerebras/modelzoo @f1fd1e09 src/cerebras/modelzoo/trainer/callbacks/precision.py (the
// keys, their checks and the order of these, the choice of the scaler), trainer/validate.py. Reproduced: a number as
// loss_scaling_factor is static on CSX and never looks for overflow; on GPUs it is PyTorch's GradScaler, which still
// halves; float16 and cbfloat16 fall back where the device has none.
#include <algorithm>
#include <array>
#include <utility>

#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr known_keys cerebras_top_keys{.read = "trainer"};
constexpr known_keys trainer_keys{.read = "init", .not_read = "fit validate validate_all"};
constexpr known_keys init_keys{.read = "precision backend device",
                               .not_read = R"(model_dir model optimizer schedulers sparsity loop checkpoint logging
        callbacks loggers seed mem_limit)"};
constexpr known_keys backend_keys{
    .read = "backend_type",
    .not_read = R"(artifact_dir cluster_config compile_dir compile_only dist_addr dist_backend drop_data
        enable_distributed init_method log_initialization main_process_id max_checkpoints micro_batch_size
        retrace_every_iteration seed sync_batchnorm use_cs_grad_accum validate_only verbose)"};
constexpr known_keys precision_keys{.read = R"(enabled fp16_type precision_opt_level loss_scaling_factor
        initial_loss_scale steps_per_increase min_loss_scale max_loss_scale max_gradient_norm max_gradient_value
        log_loss_scale)"};
enum class device { csx, gpu, cpu };

device device_of(const config_section& init) {
  const auto named = [&](const config_section& where, std::string_view key) {
    std::string name = where.text(key).value_or("CSX");
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    constexpr std::array names{std::pair{"CSX", device::csx}, std::pair{"GPU", device::gpu},
                               std::pair{"CPU", device::cpu}};
    for (const auto& [known, which] : names) {
      if (name != known) continue;
      where.means(key, "runs on " + name);
      return which;
    }
    where.fail(key, "must be CSX, GPU or CPU");
  };
  const config_entry* const backend = init.find("backend");
  if (backend != nullptr && backend->value.what == config_node::kind::scalar) return named(init, "backend");
  if (const auto section = init.section("backend", backend_keys)) return named(*section, "backend_type");
  return named(init, init.has("device") ? "device" : "backend");
}

// loss_scaling_factor: "dynamic", or a number, 1 where it is null or not given.
struct scaling {
  bool dynamic = false;
  double factor = 1;
};

scaling scaling_of(const config_section& p) {
  if (p.find("loss_scaling_factor") == nullptr) return {};
  if (p.is_number("loss_scaling_factor")) {
    const double factor = p.number("loss_scaling_factor").value();
    if (!(factor > 0)) p.fail("loss_scaling_factor", "must be above 0");
    return {.factor = factor};
  }
  if (p.text("loss_scaling_factor") != "dynamic") p.fail("loss_scaling_factor", "must be a number, null, or 'dynamic'");
  return {.dynamic = true};
}

std::string fp16_type_of(const config_section& p) {
  const std::string type = p.text("fp16_type").value_or("bfloat16");
  constexpr std::array types{"float16", "bfloat16", "cbfloat16"};
  if (std::ranges::find(types, type) == types.end()) p.fail("fp16_type", "must be float16, bfloat16 or cbfloat16");
  return type;
}

void read_clipping(const config_section& p) {
  const auto read = [&](std::string_view key, const std::string& how) {
    const auto bound = p.number(key);
    if (bound && *bound <= 0) p.fail(key, "must be above 0");
    if (bound) p.means(key, "unscaled gradients are clipped to this " + how);
    return bound;
  };
  const auto norm = read("max_gradient_norm", "L2 norm, all together");
  const auto value = read("max_gradient_value", "magnitude, each by itself");
  if (norm && value)
    p.fail("max_gradient_value",
           "and max_gradient_norm are both set: gradients are clipped by norm or by value, not both; keep one");
  p.run().out.clip_norm = norm;
  p.run().out.clip_value = value;
}

// Keys that only dynamic scaling looks at, under the scaler's names for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> dynamic_keys{
    {{"initial_loss_scale", "init_scale"},
     {"steps_per_increase", "steps_per_increase"},
     {"min_loss_scale", "min_loss_scale"},
     {"max_loss_scale", "max_loss_scale"}}};

void ignore_dynamic_keys(const config_section& p, const std::string& why) {
  for (const auto& [key, parameter] : dynamic_keys)
    if (p.has(key)) p.means(key, "nothing, since " + why);
}

// The documentation writes 2e15 and 2e-14 where the code has 2^15 and 2^-14.
void check_literals(const config_section& p) {
  const double least = p.number("min_loss_scale").value_or(0);
  if (least != 0 && least < 0x1p-14)
    p.fail("min_loss_scale", "is too small: the least that is allowed is 2^-14 = 6.103515625e-05" +
                                 std::string{least == 2e-14 ? ", which the documentation's 2e-14 means" : ""});
}

void set_csx_scaler(const config_section& p, const std::string& type, const scaling& s) {
  import_run& run = p.run();
  run.out.format = type;
  if (!s.dynamic) {
    p.means("loss_scaling_factor", "static: overflow is not looked for, and no step is skipped");
    ignore_dynamic_keys(p, "the scale is static");
    run.out.scaler = "static";
    run.parameter("loss_scale", s.factor);
    run.parameter("skip_on_overflow", false);
    return;
  }
  check_literals(p);
  if (const double most = p.number("max_loss_scale").value_or(0);
      most != 0 && most < p.number("min_loss_scale").value_or(0))
    p.fail(
        "min_loss_scale",
        "is above max_loss_scale: the first step ends the run with ApplianceNanError, the scale being below its least");
  p.means("loss_scaling_factor", "dynamic: doubles on step steps_per_increase + 1, halves on overflow");
  run.out.scaler = "cerebras_dls";
  run.parameter("fp16_type", type);
  constexpr std::array meanings{"scale of the first step", "steps without overflow before the scale doubles",
                                "floor of the scale: an overflow there ends the run", "ceiling of the scale"};
  for (std::size_t i = 0; i < dynamic_keys.size(); ++i) {
    const auto& [key, parameter] = dynamic_keys[i];
    if (const auto value = p.number(key)) {
      p.means(key, meanings[i]);
      run.parameter(std::string{parameter}, *value);
    }
  }
  run.parameter("raise_at_minimum", true);
}

void set_gpu_scaler(const config_section& p, const scaling& s) {
  import_run& run = p.run();
  run.out.scaler = "cerebras_gpu";
  if (!s.dynamic) {
    p.means("loss_scaling_factor",
            "scale of the first step: PyTorch's GradScaler halves it on overflow, never doubles");
    ignore_dynamic_keys(p, "loss_scaling_factor is not dynamic");
    run.parameter("loss_scaling_factor", s.factor);
    return;
  }
  p.means("loss_scaling_factor", "PyTorch's GradScaler, which has no floor and no ceiling");
  run.parameter("loss_scaling_factor", std::string{"dynamic"});
  if (const auto initial = p.number("initial_loss_scale")) {
    p.means("initial_loss_scale", "scale of the first step");
    run.parameter("initial_loss_scale", *initial);
  }
  if (const auto steps = p.number("steps_per_increase")) {
    p.means("steps_per_increase", "good steps in a row before the scale doubles");
    run.parameter("steps_per_increase", *steps);
  }
  for (const std::string_view key : {"min_loss_scale", "max_loss_scale"})
    if (p.has(key)) p.means(key, "nothing: ignored on GPUs");
}

// Weights and their gradients are float32. In what the micro-batches that CSX makes itself are added is documented for
// level 0 alone: "float32 accumulations".
void read_accumulation(const config_section& p, device on) {
  if (on != device::csx || p.integer("precision_opt_level") == 0) p.run().out.accumulates_in = {"float32", ""};
}

void read_precision(const config_section& p, device on) {
  import_run& run = p.run();
  const scaling s = scaling_of(p);
  const std::string type = fp16_type_of(p);
  bool enabled = p.flag("enabled").value_or(true);
  if (!enabled && on == device::csx) {
    run.note("mixed precision is always enabled on CSX: enabled = false has no effect there");
    enabled = true;
  }
  if (const auto level = p.integer("precision_opt_level")) {
    if (*level < 0 || *level > 2) p.fail("precision_opt_level", "must be 0, 1 or 2");
    p.means("precision_opt_level", "nothing for the loss scale: it chooses the width of accumulations");
  }
  read_accumulation(p, on);
  if (p.flag("log_loss_scale")) p.means("log_loss_scale", "nothing for the replay");

  if (!enabled) {
    p.means("enabled", "float32, the loss is not scaled");
    ignore_dynamic_keys(p, "mixed precision is off");
    run.no_scaling("float32");
  } else if (type == "cbfloat16" && on == device::csx && !s.dynamic) {
    p.fail("loss_scaling_factor",
           "must be 'dynamic' for cbfloat16: else gradients may underflow or overflow in training");
  } else if (type == "bfloat16" && p.has("loss_scaling_factor") && p.find("loss_scaling_factor") == nullptr) {
    p.fail("loss_scaling_factor", "is null, which bfloat16 does not take (a TypeError in precision.py); leave it out");
  } else if (type == "bfloat16" || on == device::cpu) {
    p.means("fp16_type", type == "bfloat16" ? "bfloat16, the loss is not scaled"
                                            : "bfloat16, the only 16-bit type on the CPU; the loss is not scaled");
    if (p.has("loss_scaling_factor")) p.means("loss_scaling_factor", "nothing: bfloat16 is not scaled");
    ignore_dynamic_keys(p, "bfloat16 is not scaled");
    run.no_scaling("bfloat16");
  } else if (on == device::csx) {
    p.means("fp16_type", "gradients in " + type);
    set_csx_scaler(p, type, s);
  } else {
    // precision.py keeps scaling after the fall-back: the type it compares with is no longer the word "bfloat16".
    const bool falls_back = type == "cbfloat16";
    p.means("fp16_type",
            falls_back ? "bfloat16, since cbfloat16 is only on CSX; the loss is scaled all the same" : "float16");
    run.out.format = falls_back ? "bfloat16" : "float16";
    set_gpu_scaler(p, s);
  }
  run.out.weights_kept_in = "float32";  // autocast: the model's weights stay as they are
  read_clipping(p);
}

// `trainer` is one Trainer, or a list of `trainer: ...` of which one is enough here.
const config_entry& only_trainer(import_run& run, const config_entry& trainer) {
  if (trainer.value.what != config_node::kind::sequence) return trainer;
  const auto& list = trainer.value.entries;
  const config_entry* const inner = list.size() == 1 ? list.front().value.find("trainer") : nullptr;
  if (inner == nullptr)
    throw input_error(run.file, at_line(trainer.line),
                      "trainer is a list; keep the one trainer that is to be replayed");
  return *inner;
}

}  // namespace

// `trainer` is Lightning's too: a list, or a `precision` of several keys one level down, is Cerebras's.
bool is_cerebras(const config_node& root) {
  const config_entry* const trainer = root.find("trainer");
  if (trainer == nullptr) return false;
  const auto holds_precision = [](const config_entry& e) {
    const config_entry* const precision = e.value.find("precision");
    return e.key == "init" || (precision != nullptr && precision->value.what == config_node::kind::mapping);
  };
  const bool is_list = trainer->value.what == config_node::kind::sequence;
  return is_list || std::ranges::any_of(trainer->value.entries, holds_precision);
}

void import_cerebras(import_run& run, const config_entry& root) {
  const config_section top(run, "", root, cerebras_top_keys);
  if (top.find("trainer") == nullptr) top.fail("trainer", "is missing");
  const config_section trainer(run, "trainer", only_trainer(run, *top.find("trainer")), trainer_keys);
  const auto init = trainer.section("init", init_keys);
  if (!init) trainer.fail("init", "is missing");
  const auto precision = init->section("precision", precision_keys);
  if (!precision) init->fail("precision", "is missing, so the loss scaling is unknown");
  read_precision(*precision, device_of(*init));
}

program_row cerebras_program() {
  return {.name = "Cerebras",
          .holds = "Lightning",
          .place = written_in::files,
          .import = import_cerebras,
          .is_its = is_cerebras};
}

}  // namespace ulp::io
