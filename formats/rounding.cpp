#include <ulp/formats/names.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace ulp {
namespace {

struct direction_name {
  std::string_view name;
  std::array<std::string_view, 3> aliases;
  ulp::direction direction;
};

// With Berkeley TestFloat's names, and RISC-V's.
constexpr std::array directions{
    direction_name{"nearest-even", {"rne", "near_even"}, direction::nearest_even},
    direction_name{"nearest-away", {"rna", "near_maxMag", "rmm"}, direction::nearest_away},
    direction_name{"toward-zero", {"rz", "minMag", "rtz"}, direction::toward_zero},
    direction_name{"toward-positive", {"ru", "max", "rup"}, direction::toward_positive},
    direction_name{"toward-negative", {"rd", "min", "rdn"}, direction::toward_negative},
    direction_name{"to-odd", {"ro", "odd"}, direction::to_odd},
    direction_name{"stochastic", {"sr"}, direction::stochastic},
};

std::optional<stochastic_definition> parse_definition(std::string_view text) {
  if (text == "A" || text == "a") return stochastic_definition::a;
  if (text == "B" || text == "b") return stochastic_definition::b;
  if (text == "C" || text == "c") return stochastic_definition::c;
  return std::nullopt;
}

}  // namespace

std::optional<rounding> parse_rounding(std::string_view text) {
  const std::size_t end_of_head = text.find_first_of(":,");
  const std::string_view head = text.substr(0, end_of_head);
  const auto* const row = std::find_if(directions.begin(), directions.end(), [&](const direction_name& n) {
    return n.name == head || (!head.empty() && std::find(n.aliases.begin(), n.aliases.end(), head) != n.aliases.end());
  });
  if (row == directions.end()) return std::nullopt;
  rounding mode;
  mode.direction = row->direction;
  if (end_of_head == std::string_view::npos) return mode;
  if (mode.direction != direction::stochastic) return std::nullopt;
  std::string_view options = text.substr(end_of_head + 1);
  bool has_bits = false;
  bool has_definition = false;
  while (true) {
    const std::size_t comma = options.find(',');
    const std::string_view option = options.substr(0, comma);
    if (std::exchange(option.starts_with("bits=") ? has_bits : has_definition, true)) return std::nullopt;
    if (option == "bits=all") {
      mode.random_bits = exact_probability;
    } else if (option.starts_with("bits=")) {
      const char* const end = option.data() + option.size();
      const auto [stop, error] = std::from_chars(option.data() + 5, end, mode.random_bits);
      if (error != std::errc{} || stop != end || mode.random_bits < 1 || mode.random_bits > 32) return std::nullopt;
    } else if (const auto definition = parse_definition(option)) {
      mode.definition = *definition;
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return mode;
    options.remove_prefix(comma + 1);
  }
}

std::string to_string(const rounding& mode) {
  const auto* const row = std::find_if(directions.begin(), directions.end(),
                                       [&](const direction_name& n) { return n.direction == mode.direction; });
  std::string text{row->name};
  if (mode.direction == direction::stochastic) {
    text += ":";
    text += "ABC"[static_cast<int>(mode.definition)];
    text += ",bits=" + (mode.random_bits == exact_probability ? "all" : std::to_string(mode.random_bits));
  }
  return text;
}

std::string in_full(const rounding& mode) {
  std::string text = to_string(mode);
  switch (mode.overflow) {
    case overflow_mode::ieee: break;
    case overflow_mode::saturate: text += ", saturating"; break;
    case overflow_mode::saturate_finite: text += ", saturating finite numbers"; break;
  }
  switch (mode.flush) {
    case flush::never: break;
    case flush::before_rounding: text += ", ftz before"; break;
    case flush::after_rounding: text += ", ftz after"; break;
    case flush::result: text += ", ftz result"; break;
  }
  if (mode.daz) text += ", daz";
  if (mode.tininess == tininess::before_rounding) text += ", tininess before";
  return text;
}

}  // namespace ulp
