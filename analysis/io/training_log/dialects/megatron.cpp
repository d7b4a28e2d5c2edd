// Megatron-LM and what descends from it (Megatron-DeepSpeed, GPT-NeoX): one line for every --log-interval iterations,
// "key: value |", in every order of keys. The loss scale is that after the iteration; the skipped iterations are those
// since the line before. Layouts: NVIDIA/Megatron-LM megatron/training/training.py (training_log) at 86df799d, from
// " iteration        5/     100 | consumed samples: ..." to " [2025-01-31 10:00:00.123456] iteration ..."; v1.1
// megatron/training.py prints no consumed samples; EleutherAI/gpt-neox megatron/logging.py begins with samples/sec; the
// first public releases print "loss scale 65536.0 |" without colons and no skipped iterations. Arguments are printed by
// _print_args of megatron/training/arguments.py, loaded checkpoints by load_checkpoint of checkpointing.py.
#include <algorithm>
#include <array>
#include <cmath>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// "key: value" of which the key is one of interest.
struct megatron_field {
  std::string_view key;
  double scale_record::*number = nullptr;
  std::int64_t scale_record::*count = nullptr;
};
constexpr std::array megatron_fields{
    megatron_field{"lossscale", &scale_record::after, nullptr},
    megatron_field{"numberofskippediterations", nullptr, &scale_record::skipped},
    megatron_field{"numberofnaniterations", nullptr, &scale_record::nans},
    megatron_field{"lmloss", &scale_record::loss, nullptr},
    megatron_field{"lm_loss", &scale_record::loss, nullptr},
    megatron_field{"learningrate", &scale_record::learning_rate, nullptr},
    megatron_field{"gradnorm", &scale_record::grad_norm, nullptr},
};

const megatron_field* field_at(std::string_view segment) {
  for (const megatron_field& f : megatron_fields)
    if (segment.starts_with(f.key)) return &f;
  return nullptr;
}

// "5/100|"; how long, 0 where the text is something else.
std::size_t count_length(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || text[digits] != '/') return 0;
  const std::size_t end = text.find_first_not_of("0123456789", digits + 1);
  return end != std::string_view::npos && end > digits + 1 && text[end] == '|' ? end + 1 : 0;
}

// Whether another record begins inside this text.
bool holds_iteration(std::string_view text) {
  constexpr std::string_view word = "iteration";
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::string_view rest = text.substr(at + word.size());
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits != 0 && digits != std::string_view::npos && rest[digits] == '/') return true;
  }
  return false;
}

record_match read_iteration(const record_text& text, std::size_t at, bool last) {
  constexpr std::size_t longest_segment = 120;
  const std::string_view all = text.view();
  const std::size_t length = count_length(all.substr(at));
  if (length == 0) {
    const bool cut = all.find_first_not_of("0123456789/", at) == std::string_view::npos;
    return cut && !last ? unfinished_record() : no_record();
  }
  const auto iteration = text.number_at(at, "/");
  scale_record r{.what = kind::reached};
  r.step = iteration ? step_of(*iteration) : -1;
  if (r.step < 0) return no_record();

  std::size_t end = at + length;  // of what was read so far
  bool whole = false;
  bool has_loss = false;
  for (std::size_t begin = end; !whole;) {
    const std::size_t bar = all.find('|', begin);
    const std::string_view segment = all.substr(begin, bar - begin);
    if (segment.size() > longest_segment || holds_iteration(segment)) break;
    if (bar == std::string_view::npos) {
      if (!last) return unfinished_record();
      break;
    }
    has_loss = has_loss || (segment.find("loss") != std::string_view::npos && !segment.starts_with("lossscale"));
    if (const megatron_field* const f = field_at(segment)) {
      std::size_t from = begin + f->key.size();
      if (all[from] == ':') ++from;
      if (const auto n = text.number_at(from, "|"); n && n->end == bar) {
        if (f->number != nullptr) r.put(f->number, n->value);
        if (f->count != nullptr) r.*f->count = step_of(*n);
      }
      end = bar + 1;
      whole = f->count == &scale_record::nans;
    }
    begin = bar + 1;
  }
  if (r.nans < 0) r.nans = 0;
  // optimizer.step() returns no norm of a skipped step.
  r.is_applied = r.skipped >= 0 && std::isfinite(r.grad_norm);
  // Lines that somebody shortened lack the rate, too.
  r.lacks_loss = !has_loss && !std::isnan(r.learning_rate);
  if (r.skipped < 0 && !(r.after >= 0)) return no_record();
  return whole_record(r, end);
}

record_match read_megatron_initial_scale(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, ".", {.what = kind::fresh}, &scale_record::after);
}

record_match read_megatron_window(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, ".", {.what = kind::window}, &scale_record::after);
}

record_match read_bfloat16(const record_text& text, std::size_t at, bool last) {
  at = std::min(text.view().find_first_not_of('.', at), text.size());
  if (at + 4 > text.size() && !last) return unfinished_record();
  if (!text.view().substr(at).starts_with("True")) return no_record();
  return whole_record({.what = kind::bfloat16}, at + 4);
}

// Megatron-LM: "loaded checkpoint from PATH [ t 0, p 0 ] at iteration 1000".
record_match read_megatron_loaded(const record_text& text, std::size_t at, bool) {
  constexpr std::size_t longest_path = 1000;
  const std::size_t end = std::min(text.line_end(at), at + longest_path);
  constexpr std::string_view words = "atiteration";
  const std::size_t found = text.view().substr(at, end - at).rfind(words);
  if (found == std::string_view::npos) return no_record();
  const auto n = text.number_at(at + found + words.size(), "");
  scale_record r{.what = kind::restored};
  if (!n || n->end > end || (r.step = step_of(*n)) < 0) return no_record();
  return whole_record(r, n->end);
}

constexpr std::array megatron_starts{
    record_start{"iteration", read_iteration},
    record_start{"initial_loss_scale.", read_megatron_initial_scale},
    record_start{"loss_scale_window.", read_megatron_window},
    record_start{"bf16......", read_bfloat16},
    record_start{"loadedcheckpointfrom", read_megatron_loaded},
};

}  // namespace

log_dialect megatron_dialect() { return {.name = "Megatron-LM", .starts = megatron_starts, .norm_is_of_update = true}; }

}  // namespace ulp::io
