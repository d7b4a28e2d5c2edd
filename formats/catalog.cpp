#include <ulp/formats/catalog.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 4> float16_aliases{"fp16", "half", "f16", "binary16"};
constexpr std::array<std::string_view, 2> bfloat16_aliases{"bf16", "bfloat"};
constexpr std::array<std::string_view, 2> cbfloat16_aliases{"cb16", "cbfloat"};
constexpr std::array<std::string_view, 4> float32_aliases{"fp32", "float", "f32", "binary32"};
constexpr std::array<std::string_view, 4> float64_aliases{"fp64", "double", "f64", "binary64"};
constexpr std::array<std::string_view, 1> tf32_aliases{"tensorfloat32"};
constexpr std::array<std::string_view, 2> e4m3fn_aliases{"e4m3fn", "fp8_e4m3fn"};
constexpr std::array<std::string_view, 2> e5m2_aliases{"e5m2", "fp8_e5m2"};

constexpr std::array rows{
    catalog_entry{"float16", float16_aliases, float16, "IEEE 754-2019, binary16", ""},
    catalog_entry{"bfloat16", bfloat16_aliases, bfloat16, "Intel 338302-001, the upper half of binary32", ""},
    catalog_entry{"cbfloat16", cbfloat16_aliases, cbfloat16, "Cerebras CB16, docs.cerebras.net, data formats",
                  "bias 31 and IEEE-style specials are an assumption: see docs/numerics.md"},
    catalog_entry{"float32", float32_aliases, binary32, "IEEE 754-2019, binary32", ""},
    catalog_entry{"float64", float64_aliases, binary64, "IEEE 754-2019, binary64", ""},
    catalog_entry{"tf32", tf32_aliases, tf32, "NVIDIA A100 architecture whitepaper", "19 bits, kept in 32 by hardware"},
    catalog_entry{"float8_e4m3fn", e4m3fn_aliases, float8_e4m3fn, "OCP OFP8 1.0, E4M3",
                  "no infinity: what overflows is NaN, or 448 when saturating"},
    catalog_entry{"float8_e5m2", e5m2_aliases, float8_e5m2, "OCP OFP8 1.0, E5M2", ""},
};

// A decimal of one or two digits without leading zero, the whole of `text`.
std::optional<int> small_number(std::string_view text) noexcept {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.front() == '0' || text.front() == '-') return {};
  return value;
}

std::optional<format> parse_exmy(std::string_view name) noexcept {
  const std::size_t m = name.find('m');
  if (name.size() < 4 || name.front() != 'e' || m == std::string_view::npos || m + 1 == name.size() || m < 2) return {};
  const auto exponent = small_number(name.substr(1, m - 1));
  const auto fraction = small_number(name.substr(m + 1));
  if (!exponent || !fraction || *exponent < 2 || *exponent > 11 || *fraction < 1 || *fraction > 52) return {};
  return format{.exponent_bits = *exponent, .fraction_bits = *fraction, .bias = (1 << (*exponent - 1)) - 1};
}

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const catalog_entry> catalog() noexcept { return rows; }

const catalog_entry* find_entry(std::string_view name) noexcept {
  for (const catalog_entry& row : rows)
    if (row.name == name || std::find(row.aliases.begin(), row.aliases.end(), name) != row.aliases.end()) return &row;
  return nullptr;
}

std::optional<format> find_format(std::string_view name) noexcept {
  if (const catalog_entry* row = find_entry(name)) return row->format;
  return parse_exmy(name);
}

std::vector<std::string> similar_format_names(std::string_view name) {
  std::multimap<std::size_t, std::string_view> near;  // by distance; equal ones in the catalogue's order
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  const auto consider = [&](std::string_view candidate) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= limit) near.emplace(distance, candidate);
  };
  for (const catalog_entry& row : rows) {
    consider(row.name);
    for (const std::string_view alias : row.aliases) consider(alias);
  }
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : near)
    if (names.size() < 3) names.emplace_back(candidate);
  return names;
}

}  // namespace ulp
