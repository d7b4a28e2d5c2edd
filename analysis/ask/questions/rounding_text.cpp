#include <ulp/ask/questions/rounding_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/hardware_roundings.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

// "nvidia (13 bits to float16, 16 to bfloat16), ..."
std::string text_of_presets() {
  std::string text;
  const rounding_preset* before = nullptr;
  for (const rounding_preset& p : rounding_presets()) {
    const int bits = p.rounding.random_bits;
    if (before == nullptr || before->name != p.name)
      text += fmt::format("{}{} ({} bits to {}", before == nullptr ? "" : "), ", p.name, bits, p.to_name);
    else if (before->rounding.random_bits != bits)
      text += fmt::format(", {} to {}", bits, p.to_name);
    else
      text += fmt::format(", {}", p.to_name);
    before = &p;
  }
  return text + ")";
}

// All but the direction, of texts that mean something.
rounding with_switches(rounding mode, const rounding_text& text) {
  mode.overflow = text.saturate          ? overflow_mode::saturate
                  : text.saturate_finite ? overflow_mode::saturate_finite
                                         : overflow_mode::ieee;
  mode.daz = text.daz;
  mode.flush = text.flush == "before"   ? flush::before_rounding
               : text.flush == "after"  ? flush::after_rounding
               : text.flush == "result" ? flush::result
                                        : flush::never;
  mode.tininess = text.tininess == "before" ? tininess::before_rounding : tininess::after_rounding;
  return mode;
}

}  // namespace

rounding rounding_text::value(const format& to) const {
  const auto read = direction.empty() ? parsed<rounding>{rounding{.direction = default_direction(to)}, ""}
                                      : parse_rounding(direction, to);
  if (!read.value) throw std::invalid_argument("--rounding: " + read.error);
  const auto check = [](const char* option, const std::string& given, const std::vector<std::string>& all) {
    if (std::ranges::find(all, given) == all.end())
      throw std::invalid_argument(fmt::format("{}: '{}' is not one of {}", option, given, fmt::join(all, ", ")));
  };
  if (!flush.empty()) check("--ftz", flush, {"before", "after", "result"});
  check("--tininess", tininess, {"before", "after"});
  return with_switches(*read.value, *this);
}

bool rounding_text::is_preset() const {
  const auto presets = rounding_presets();
  return std::any_of(presets.begin(), presets.end(), [&](const auto& p) { return p.name == direction; });
}

std::string rounding_text::text(const format& to) const {
  const std::string canonical = to_string(value(to));
  return (is_preset() ? fmt::format("{} ({})", direction, canonical) : canonical) + switches();
}

std::string rounding_text::switches() const {
  const rounding plain;
  return in_full(with_switches(plain, *this)).substr(to_string(plain).size());
}

typed_treatment treatment_of(const std::string& format_name, const rounding_text& rounding) {
  const format to = value_format_named(format_name);
  const ulp::rounding mode = rounding.value(to);
  return {format_name, {to, mode}, rounding.direction.empty() ? to_string(mode) : rounding.direction};
}

std::vector<text_option> options_of(rounding_text& text) {
  const std::string group = "Rounding";
  return {{.name = "rounding",
           .value = &text.direction,
           .type = "R",
           .help = "nearest-even, nearest-away, toward-zero, toward-positive, toward-negative, to-odd (rne rna rz ru "
                   "rd ro), or stochastic[:A|B|C][,bits=1..32|all] (sr; A, 32 bits); or hardware whose conversions "
                   "from float32 are documented (stochastic:A): " +
                   text_of_presets() + ". Default: nearest-even; for dlfloat16 nearest-away",
           .group = group},
          {.name = "saturate",
           .value = &text.saturate,
           .type = "",
           .help = "deliver the largest finite number on overflow, for infinities too",
           .group = group},
          {.name = "saturate-finite",
           .value = &text.saturate_finite,
           .type = "",
           .help = "deliver the largest finite number on overflow of finite numbers; infinities stay",
           .group = group,
           .excludes = "saturate"},
          {.name = "ftz",
           .value = &text.flush,
           .type = "WHEN",
           .help = "flush subnormal results to zero",
           .group = group,
           .one_of = {"before", "after", "result"}},
          {.name = "daz", .value = &text.daz, .type = "", .help = "read subnormal operands as zero", .group = group},
          {.name = "tininess",
           .value = &text.tininess,
           .type = "WHEN",
           .help = "detect tininess before or after rounding",
           .group = group,
           .one_of = {"before", "after"}},
          {.name = "seed",
           .value = &text.seed,
           .type = "N",
           .help = "seed of the random bits for stochastic rounding",
           .group = group}};
}

}  // namespace ulp
