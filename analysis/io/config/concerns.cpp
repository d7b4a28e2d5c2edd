#include "concerns.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "arguments.hpp"
#include "bytes/ascii.hpp"
#include "section.hpp"

namespace ulp::io {
namespace {

struct sound {
  std::string_view part;
  concern what;
  bool is_word = false;  // between underscores: "amp", not "sample"
};

// The first that is in a name counts: "main_grads_dtype" is about accumulation, not about precision.
constexpr std::array sounds{
    sound{"accum", concern::accumulation},
    sound{"grads_dtype", concern::accumulation},
    sound{"grad_dtype", concern::accumulation},
    sound{"grad_reduce", concern::accumulation},
    sound{"reduce_dtype", concern::accumulation},
    sound{"allreduce", concern::accumulation},
    sound{"max_norm", concern::clipping},
    sound{"max_grad", concern::clipping},
    sound{"clip_grad", concern::clipping},
    sound{"grad_clip", concern::clipping},
    sound{"gradient_clip", concern::clipping},
    sound{"clip_norm", concern::clipping},
    sound{"norm_clip", concern::clipping},
    sound{"clipnorm", concern::clipping},
    sound{"clip_val", concern::clipping},
    sound{"clipvalue", concern::clipping},
    sound{"clip_max", concern::clipping},
    sound{"clipping", concern::clipping},
    sound{"grad_norm", concern::clipping},
    sound{"fp16_scale", concern::scale},
    sound{"loss_scal", concern::scale},
    sound{"lossscal", concern::scale},
    sound{"scale_loss", concern::scale},
    sound{"scale_sense", concern::scale},
    sound{"grad_scal", concern::scale},
    sound{"gradscal", concern::scale},
    sound{"init_scale", concern::scale},
    sound{"initial_scale", concern::scale},
    sound{"scale_growth", concern::scale},
    sound{"scale_window", concern::scale},
    sound{"growth_interval", concern::scale},
    sound{"growth_factor", concern::scale},
    sound{"backoff_factor", concern::scale},
    sound{"hysteresis", concern::scale},
    sound{"scaler", concern::scale, true},
    sound{"precision", concern::precision},
    sound{"dtype", concern::precision},
    sound{"fp16", concern::precision},
    sound{"bf16", concern::precision},
    sound{"float16", concern::precision},
    sound{"fp8", concern::precision},
    sound{"float8", concern::precision},
    sound{"autocast", concern::precision},
    sound{"half", concern::precision, true},
    sound{"amp", concern::precision, true},
    sound{"mixed_prec", concern::precision},
    sound{"mix_prec", concern::precision},
    sound{"opt_level", concern::precision},
};

// What only tells of them.
constexpr std::array<std::string_view, 4> telling{"log_", "track_", "report_", "print_"};
constexpr std::string_view of_whom = "backend";  // "fp16_backend: auto" says nothing

// Float32 is what is taken where nothing is said.
bool is_float32(const config_node& value) {
  constexpr std::array<std::string_view, 6> words{"fp32", "32", "float32", "torch.float32", "tf.float32", "single"};
  return value.what == config_node::kind::scalar &&
         std::ranges::find(words, in_small_letters(value.text)) != words.end();
}

bool is_in(const sound& s, std::string_view name) {
  for (std::size_t at = name.find(s.part); at != std::string_view::npos; at = name.find(s.part, at + 1)) {
    const std::size_t end = at + s.part.size();
    if (!s.is_word || ((at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_'))) return true;
  }
  return false;
}

// Of a key that is not known, all that sound so in it and below it.
void collect(const std::string& name, const config_node& value,
             std::array<std::vector<std::string>, concern_count>& all) {
  const auto what = concern_of(name);
  // That clipping is off may matter where it is on by default.
  const bool is_one = what && (*what == concern::clipping || !(is_false(value) || is_float32(value)));
  if (is_one) all[static_cast<std::size_t>(*what)].push_back(name);
  if (value.what != config_node::kind::mapping && value.what != config_node::kind::sequence) return;
  for (const config_entry& e : value.entries) collect(e.key.empty() ? name : name + "." + e.key, e.value, all);
}

std::string listed(std::vector<std::string> keys) {
  constexpr std::size_t shown = 12;
  constexpr std::size_t longest = 60;
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), shown); ++i)
    names += (i == 0 ? "" : ", ") + (keys[i].size() > longest ? keys[i].substr(0, longest) + "..." : keys[i]);
  return keys.size() <= shown ? names : names + " and " + std::to_string(keys.size() - shown) + " more";
}

// What was concluded and would be a default; empty where the keys change nothing.
std::string doubtful(const import_run& run, concern about) {
  const imported_config& out = run.out;
  const bool settled = run.settled[static_cast<std::size_t>(about)];
  switch (about) {
    case concern::precision: return settled ? "" : "that it trains in " + out.format.value_or("?");
    case concern::scale:
      return settled ? "" : out.scaler == "none" ? "that the loss is not scaled" : "the scaler's parameters";
    case concern::clipping:
      return settled ? "" : out.clip_norm || out.clip_value ? "the clipping by default" : "that nothing is clipped";
    case concern::accumulation: break;
  }
  return "";
}

}  // namespace

std::optional<concern> concern_of(std::string_view key) {
  constexpr std::size_t longest = 100;
  if (key.size() > longest) return {};
  const std::string name = in_small_letters(bare_name(key.substr(key.find_last_of('.') + 1)));
  const bool tells = std::ranges::any_of(telling, [&](std::string_view start) { return name.starts_with(start); });
  if (tells || name.ends_with(of_whom)) return {};
  if (name == "clip") return concern::clipping;
  for (const sound& s : sounds)
    if (is_in(s, name)) return s.what;
  return {};
}

bool is_false(const config_node& value) {
  constexpr std::array<std::string_view, 9> words{"", "false", "0", "0.0", "no", "none", "off", "null", "f"};
  if (value.what == config_node::kind::null) return true;
  if (value.what != config_node::kind::scalar) return value.entries.empty();
  return !value.open && std::ranges::find(words, in_small_letters(value.text)) != words.end();
}

void judge_unknown(import_run& run) {
  std::array<std::vector<std::string>, concern_count> matter;
  std::vector<std::string> others;
  for (const unknown_key& key : run.unknown) {
    std::array<std::vector<std::string>, concern_count> its;
    collect(key.name, key.value, its);
    bool any = false;
    for (std::size_t i = 0; i < concern_count; ++i) {
      any = any || !its[i].empty();
      matter[i].insert(matter[i].end(), its[i].begin(), its[i].end());
    }
    if (!any) others.push_back(key.name);
  }
  std::vector<std::string> harmless;
  std::vector<std::string> upsetting;
  std::string conclusions;
  for (std::size_t i = 0; i < concern_count; ++i) {
    if (matter[i].empty()) continue;
    const std::string conclusion = doubtful(run, static_cast<concern>(i));
    std::vector<std::string>& to = conclusion.empty() ? harmless : upsetting;
    to.insert(to.end(), matter[i].begin(), matter[i].end());
    if (!conclusion.empty()) conclusions += (conclusions.empty() ? "" : ", ") + conclusion;
  }
  if (run.command != nullptr && !run.command->unset.empty() &&
      !run.settled[static_cast<std::size_t>(concern::precision)])
    throw input_error(run.file, "",
                      "does not say what " + run.command->unset.front() + " holds, which may change " +
                          doubtful(run, concern::precision) + "; write the arguments out");
  const auto line_of = [&](const std::string& name) {
    for (const unknown_key& key : run.unknown)
      if (name.starts_with(key.name)) return at_line(key.line);
    return std::string{};
  };
  if (!upsetting.empty())
    throw input_error(
        run.file, line_of(upsetting.front()),
        listed(upsetting) + (upsetting.size() == 1 ? " is" : " are") + " not known in a configuration of " +
            run.out.framework + ", and may change " + conclusions +
            "; remove what does not matter, name the program by --framework if it is another one, or leave "
            "--config out and give --scaler, --format and --clip-norm");
  // What sums are kept in is a default then, which such a key may change.
  if (!matter[static_cast<std::size_t>(concern::accumulation)].empty() && run.out.accumulates_in &&
      !run.out.accumulates_in->assumed.empty())
    run.out.accumulates_in.reset();
  if (!harmless.empty()) run.note("may bear on precision, but not known here, and left out: " + listed(harmless));
  if (run.only_what_matters && !others.empty())
    run.note(std::to_string(others.size()) + (others.size() == 1 ? " other key was" : " other keys were") +
             " left out, by names that do not sound like precision, loss scale or clipping");
  else if (!others.empty())
    run.note("not known here, and left out: " + listed(others));
}

}  // namespace ulp::io
