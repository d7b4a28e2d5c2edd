#include "inferred_roles.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include <ulp/io/bytes/regex.hpp>
#include <ulp/model/cells/value_classes.hpp>

namespace ulp::io {
namespace {

// Of a recording only so much is read twice; a dump costs more.
constexpr std::uint64_t steps_of_recording = 2000;
constexpr std::uint64_t steps_of_dumps = 64;

// What the scaler may look at.
bool is_candidate(const tensor_info& t) { return t.kind == tensor_kind::weight_grad || t.kind == tensor_kind::unknown; }

// Role, format or kind of sum are not known.
bool is_open(const tensor_info& t, bool parts_known) {
  return is_candidate(t) && (t.role == tensor_role::unknown || (t.role == tensor_role::low && !parts_known));
}

// "^layers.[0-9]+.weight$": digits that are a part of the name stand for any, what is no word for anything.
std::string pattern_of(std::string_view name, bool any_number) {
  std::string pattern;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_word = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins = i == 0 || !is_word(name[i - 1]);
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (any_number && begins && end > i && (end == name.size() || !is_word(name[end]))) {
      pattern += "[0-9]+";
      i = end - 1;
    } else if (is_word(name[i])) {
      pattern += name[i];
    } else if (!pattern.ends_with(".+")) {
      pattern += static_cast<unsigned char>(name[i]) < 0x80 ? "." : ".+";
    }
  }
  return pattern;
}

// What the first steps say of a run's tensors.
struct seen_values {
  value_classes classes;
  bool is_scaled = false;
};

bool any_is_open(const std::vector<tensor_info>& tensors, const step& first) {
  return std::ranges::any_of(tensors, [&](const tensor_info& t) {
    const auto index = static_cast<std::uint32_t>(&t - tensors.data());
    const auto row = std::ranges::find(first.tensors, index, &tensor_row::tensor);
    return is_open(t, row != first.tensors.end() && row->parts.known());
  });
}

// nullopt where nothing is open.
std::optional<seen_values> see_values(source& from) {
  const std::uint64_t most = from.kind() == source_kind::recording ? steps_of_recording : steps_of_dumps;
  seen_values seen;
  step now;
  for (std::uint64_t i = 0; i < most && from.next(now); ++i) {
    if (i == 0 && !any_is_open(from.tensors(), now)) return std::nullopt;
    seen.classes.see(now);
    seen.is_scaled = seen.is_scaled || now.scalars.loss_scale > 1;
  }
  return seen;
}

// Of values that went through no 16-bit format: what a scaler found in them says nothing of float16.
inferred_roles without_roles(const std::vector<tensor_info>& tensors, const seen_values& seen) {
  inferred_roles none;
  for (std::size_t i = 0; seen.is_scaled && i < tensors.size(); ++i)
    if (is_candidate(tensors[i]) && tensors[i].through.empty() && seen.classes[i] == value_class::float32)
      none.tensors.emplace(tensors[i].name, inferred_tensor{.through = "float32"});
  if (!none.empty())
    none.note =
        "by their significands the gradients are float32 values that went through no 16-bit format: that the run "
        "found no overflow at its scale says nothing about 16-bit formats";
  return none;
}

inferred_tensor inferred_of(const tensor_info& t, value_class c, bool is_float16) {
  const bool is_low = c == value_class::float16 || c == value_class::bfloat16 || (is_float16 && c == value_class::sum);
  const bool says_low = t.role == tensor_role::low && !t.through.empty();
  inferred_tensor found;
  if (t.role == tensor_role::unknown && c != value_class::unknown)
    found.role = is_low ? tensor_role::low : tensor_role::float32;
  if (is_low && t.through.empty() && t.role != tensor_role::float32)
    found.through = is_float16 ? "float16" : "bfloat16";
  // Not what it would be if it had been rounded by itself.
  found.is_sum = t.through == "float16" || found.through == "float16"
                     ? c == value_class::sum || (says_low && c == value_class::float32)
                     : false;
  return found;
}

// How many gradients, of those that were looked at.
struct inferred_counts {
  std::size_t low = 0;   // whose role is inferred
  std::size_t sums = 0;  // of these
  std::size_t kept = 0;
  std::size_t sums_of_low = 0;  // whose role the input says
};

std::string note_of(const inferred_counts& n, const char* format, const std::string& option) {
  if (n.low > 0)
    return "roles are inferred from the values: " + std::to_string(n.low) + (n.low == 1 ? " gradient" : " gradients") +
           " went through " + format +
           (n.sums > 0
                ? " (" + (n.sums == n.low && n.sums > 1 ? "all" : std::to_string(n.sums)) + " as sums of rounded parts)"
                : "") +
           ", " + std::to_string(n.kept) + (n.kept == 1 ? " is" : " are") + " kept in float32; the same as " + option;
  if (n.sums_of_low > 0)
    return std::to_string(n.sums_of_low) +
           (n.sums_of_low == 1 ? " gradient of role low is a float32 sum" : " gradients of role low are float32 sums") +
           " of parts that were rounded to float16, as the values show";
  return {};
}

}  // namespace

std::string role_option(const std::vector<std::string>& names, const std::vector<std::string>& others,
                        std::string_view role) {
  std::set<std::string> patterns;
  for (const std::string& name : names) {
    std::string pattern = pattern_of(name, true);
    const regex of("^" + pattern + "$");
    if (std::ranges::any_of(others, [&](const std::string& other) { return of.matches(other); }))
      pattern = pattern_of(name, false);
    patterns.insert(std::move(pattern));
  }
  std::string all;
  for (const std::string& pattern : patterns) all += (all.empty() ? "" : "|") + pattern;
  return "--role '^(" + all + ")$=" + std::string{role} + "'";
}

inferred_roles infer_roles(source& from) {
  const std::uint64_t there = from.step_count();
  if (there > 0 && there < value_classes::least_steps) return {};
  const std::optional<seen_values> seen = see_values(from);
  if (!seen) return {};

  const std::vector<tensor_info>& tensors = from.tensors();
  const auto any_of_class = [&](value_class c) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (is_candidate(tensors[i]) && seen->classes[i] == c) return true;
    return false;
  };
  // A few values may be bfloat16 numbers in a float16 run, and sums of bfloat16 parts float16 numbers; but their loss is
  // not scaled.
  const bool is_float16 = any_of_class(value_class::float16) || (seen->is_scaled && any_of_class(value_class::sum));
  if (!is_float16 && !any_of_class(value_class::bfloat16)) return without_roles(tensors, *seen);

  inferred_roles all;
  inferred_counts counts;
  std::vector<std::string> low;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const tensor_info& t = tensors[i];
    if (!is_candidate(t)) continue;
    const inferred_tensor found = inferred_of(t, seen->classes[i], is_float16);
    const bool is_low = found.role == tensor_role::low;
    (is_low ? low : others).push_back(t.name);
    counts.kept += found.role == tensor_role::float32 ? 1 : 0;
    (is_low ? counts.sums : counts.sums_of_low) += found.is_sum ? 1 : 0;
    if (found.role != tensor_role::unknown || !found.through.empty() || found.is_sum)
      all.tensors.emplace(t.name, found);
  }
  counts.low = low.size();
  all.note = note_of(counts, is_float16 ? "float16" : "bfloat16", low.empty() ? "" : role_option(low, others, "low"));
  return all;
}

}  // namespace ulp::io
