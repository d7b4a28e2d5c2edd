// DeepSpeed: a line for each overflow, and every steps_per_print steps one with the steps so far and how many of them
// were skipped. Layouts, of deepspeedai/DeepSpeed:
//   "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", and
//   "... Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1": deepspeed/runtime/fp16/loss_scaler.py
//   (update_scale) at 03365187; no loss scale in bfloat16; "[deepscale] OVERFLOW! ..." of runtime/zero/stage2.py and
//   stage3.py before; "OVERFLOW! Skipping step. Attempted loss scale: ..." of megatron/fp16/fp16.py, v1.1 of
//   NVIDIA/Megatron-LM, from which it comes;
//   "Grad overflow on iteration 4", "Reducing dynamic loss scale from 65536 to 32768.0", "Increasing dynamic loss scale
//   from ... to ...", "Overflow detected. Skipping step. Attempted loss scale: ..., reducing to ...", all of the same
//   step: runtime/fp16/fused_optimizer.py and unfused_optimizer.py (_update_scale, step);
//   "[Rank 0] step=10, skipped=1, lr=[...], mom=[...]": runtime/engine.py (_report_progress);
//   "Exception: Current loss scale already at minimum - cannot decrease scale anymore": loss_scaler.py (update_scale);
//   "initial_dynamic_scale ........ 65536", "dynamic_loss_scale_args ...... {..., 'scale_window': 1000, ...}":
//   runtime/config.py (print).
#include <array>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// Whether the text goes on with these words; unfinished where it ends within them.
record_match::state goes_on(const record_text& text, std::size_t at, std::string_view words) {
  const std::string_view rest = text.view().substr(at);
  if (rest.starts_with(words)) return record_match::state::complete;
  return words.starts_with(rest) ? record_match::state::unfinished : record_match::state::none;
}

// "65536, reducing to 32768"
record_match read_change(const record_text& text, std::size_t at, bool last, std::string_view ender,
                         std::string_view between, const scale_record& of) {
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto before = text.number_at(at, ender);
  if (!before) return no_record();
  const auto words = goes_on(text, before->end, between);
  if (words == record_match::state::none || (last && words != record_match::state::complete)) return no_record();
  const std::size_t from = before->end + between.size();
  if (words == record_match::state::unfinished || from == text.size()) return last ? no_record() : unfinished_record();
  const auto after = text.number_at(from, "");
  if (!after) return no_record();
  const bool halved = after->value * 2 == before->value || after->value == before->value;
  if (after->open && !last && !halved) return unfinished_record();
  scale_record r = of;
  r.before = before->value;
  r.after = after->value;
  return whole_record(r, after->end);
}

record_match read_attempted(const record_text& text, std::size_t at, bool last) {
  constexpr std::string_view hysteresis = ",buthysteresis";
  const auto before = at < text.size() ? text.number_at(at, ",") : std::nullopt;
  const auto held = before ? goes_on(text, before->end, hysteresis) : record_match::state::none;
  if (held == record_match::state::complete) {
    scale_record r{.what = kind::overflow};
    r.before = r.after = before->value;
    return whole_record(r, before->end + hysteresis.size());
  }
  if (held == record_match::state::unfinished && !last) return unfinished_record();
  return read_change(text, at, last, ",", ",reducingto", {.what = kind::overflow});
}

// Without a loss scale; with one, the words that follow begin a record of their own.
record_match read_overflow(const record_text& text, std::size_t at, bool last) {
  const std::string_view rest = text.view().substr(at);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::size_t after = at + digits;
  constexpr std::string_view skipping = "Skippingstep.";
  const auto words = goes_on(text, after, skipping);
  if (words != record_match::state::complete)
    return words == record_match::state::none || last ? no_record() : unfinished_record();
  const auto scale = goes_on(text, after + skipping.size(), "Attempted");
  if (scale == record_match::state::complete) return no_record();
  if (scale == record_match::state::unfinished && !last) return unfinished_record();
  return whole_record({.what = kind::overflow}, after + skipping.size());
}

// "OVERFLOW! Skipping step. Attempted loss scale: 65536.0" and no more: fp16_optimizer.py of NVIDIA/tacotron2.
record_match read_attempted_alone(const record_text& text, std::size_t at, bool last) {
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto before = text.number_at(at, ",");
  if (!before) return no_record();
  if (before->open && !last) return unfinished_record();
  if (before->end < text.size() && text.view()[before->end] == ',') return no_record();
  scale_record r{.what = kind::overflow};
  r.before = before->value;
  return whole_record(r, before->end);
}

// Instead of the line of the overflow. The least scale is 1 unless it is configured.
record_match read_minimum(const record_text&, std::size_t at, bool) {
  return whole_record({.what = kind::fatal, .after = 1}, at);
}

record_match read_reducing(const record_text& text, std::size_t at, bool last) {
  return read_change(text, at, last, "t", "to", {.what = kind::overflow});
}

record_match read_increasing(const record_text& text, std::size_t at, bool last) {
  return read_change(text, at, last, "t", "to", {.what = kind::grown});
}

// A constant scale: fused_optimizer.py says so after each overflow.
record_match read_static(const record_text& text, std::size_t at, bool last) {
  record_match m = read_trailing(text, at, last, ":", {.what = kind::overflow}, &scale_record::after);
  m.record.before = m.record.after;
  return m;
}

// Counted from 0.
record_match read_position(const record_text& text, std::size_t at, bool last) {
  if (at < text.size() && text.view()[at] == ':') ++at;
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto n = text.number_at(at, "");
  if (!n || step_of(*n) < 0) return no_record();
  if (n->open && !last) return unfinished_record();
  return whole_record({.what = kind::position, .step = step_of(*n) + 1}, n->end);
}

// "10,skipped=1,lr=[0.001]"
record_match read_step(const record_text& text, std::size_t at, bool last) {
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto step = text.number_at(at, ",");
  if (!step || step_of(*step) < 0) return no_record();
  constexpr std::string_view words = ",skipped=";
  const auto more = goes_on(text, step->end, words);
  if (more != record_match::state::complete)
    return more == record_match::state::none || last ? no_record() : unfinished_record();
  const std::size_t from = step->end + words.size();
  const auto skipped = from < text.size() ? text.number_at(from, ",") : std::nullopt;
  if (!skipped) return from == text.size() && !last ? unfinished_record() : no_record();
  if (skipped->open && !last) return unfinished_record();
  scale_record r{.what = kind::reached};
  r.step = step_of(*step);
  r.skipped = step_of(*skipped);
  if (goes_on(text, skipped->end, ",lr=[") == record_match::state::complete)
    if (const auto rate = text.number_at(skipped->end + 5, ",]")) r.learning_rate = rate->value;
  return whole_record(r, skipped->end);
}

record_match read_initial_scale(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, ".", {.what = kind::fresh}, &scale_record::after);
}

record_match read_window(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, "\":' ", {.what = kind::window}, &scale_record::after);
}

constexpr std::array deepspeed_starts{
    record_start{"OVERFLOW!Skippingstep.Attemptedlossscale:", read_attempted_alone, true},
    record_start{"Currentlossscalealreadyatminimum", read_minimum},
    record_start{"Attemptedlossscale:", read_attempted},
    record_start{"OVERFLOW!Rank", read_overflow, true},
    record_start{"Reducingdynamiclossscalefrom", read_reducing, true},
    record_start{"Increasingdynamiclossscalefrom", read_increasing, true},
    record_start{"Usingstaticlossscaleof", read_static},
    record_start{"Gradoverflowoniteration", read_position, true},
    record_start{"step=", read_step},
    record_start{"initial_dynamic_scale.", read_initial_scale},
    record_start{"'scale_window", read_window},
};

}  // namespace

log_dialect deepspeed_dialect() { return {.name = "DeepSpeed", .starts = deepspeed_starts, .skipped_in_all = true}; }

}  // namespace ulp::io
