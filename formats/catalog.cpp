#include <ulp/formats/catalog.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <utility>

#include <ulp/formats/ambiguous_names.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/name_suggestions.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 4> float16_aliases{"fp16", "half", "f16", "binary16"};
constexpr std::array<std::string_view, 2> bfloat16_aliases{"bf16", "bfloat"};
constexpr std::array<std::string_view, 2> cbfloat16_aliases{"cb16", "cbfloat"};
constexpr std::array<std::string_view, 4> float32_aliases{"fp32", "float", "f32", "binary32"};
constexpr std::array<std::string_view, 4> float64_aliases{"fp64", "double", "f64", "binary64"};
constexpr std::array<std::string_view, 1> tf32_aliases{"tensorfloat32"};
// Upper-case E4M3, E3M2, E2M3 and E2M1 are OCP's words for formats that the lower-case pattern does not mean.
constexpr std::array<std::string_view, 4> e4m3fn_aliases{"e4m3fn", "fp8_e4m3fn", "fp8_e4m3", "E4M3"};
constexpr std::array<std::string_view, 2> e5m2_aliases{"e5m2", "fp8_e5m2"};
constexpr std::array<std::string_view, 3> e4m3fnuz_aliases{"e4m3fnuz", "fp8_e4m3fnuz", "binary8p4sf"};
constexpr std::array<std::string_view, 3> e5m2fnuz_aliases{"e5m2fnuz", "fp8_e5m2fnuz", "binary8p3sf"};
constexpr std::array<std::string_view, 4> e3m2_aliases{"float6_e3m2fn", "e3m2fn", "fp6_e3m2", "E3M2"};
constexpr std::array<std::string_view, 4> e2m3_aliases{"float6_e2m3fn", "e2m3fn", "fp6_e2m3", "E2M3"};
constexpr std::array<std::string_view, 5> e2m1_aliases{"float4_e2m1fn", "e2m1fn", "fp4_e2m1", "fp4", "E2M1"};
constexpr std::array<std::string_view, 4> e8m0_aliases{"float8_e8m0fnu", "e8m0fnu", "e8m0", "ue8m0"};
constexpr std::array<std::string_view, 2> dlfloat16_aliases{"dlfloat", "dlf16"};
// gfloat's names.
constexpr std::array<std::string_view, 2> p3_aliases{"p3109_k8p3se", "p3109_p3"};
constexpr std::array<std::string_view, 2> p4_aliases{"p3109_k8p4se", "p3109_p4"};
constexpr std::array<std::string_view, 2> p5_aliases{"p3109_k8p5se", "p3109_p5"};
constexpr std::string_view p3109 = "IEEE P3109 interim report 4.0";
constexpr std::string_view p3109_note =
    "one zero, one NaN, infinities; others are binary<K>p<P>se, and sf without infinities";

constexpr std::array rows{
    catalog_entry{"float16", float16_aliases, float16, "IEEE 754-2019, binary16", ""},
    catalog_entry{"bfloat16", bfloat16_aliases, bfloat16, "Intel 338302-001", "the upper half of binary32"},
    catalog_entry{"cbfloat16", cbfloat16_aliases, cbfloat16, "Cerebras CB16, docs.cerebras.net",
                  "bias 31 and IEEE-style specials are an assumption: see docs/numerics.md"},
    catalog_entry{"float32", float32_aliases, binary32, "IEEE 754-2019, binary32", ""},
    catalog_entry{"float64", float64_aliases, binary64, "IEEE 754-2019, binary64", ""},
    catalog_entry{"tf32", tf32_aliases, tf32, "NVIDIA A100 architecture whitepaper", "19 bits, kept in 32 by hardware"},
    catalog_entry{"float8_e4m3fn", e4m3fn_aliases, float8_e4m3fn, "OCP OFP8 1.0, E4M3",
                  "no infinity: overflow becomes NaN, or 448 when saturating"},
    catalog_entry{"float8_e5m2", e5m2_aliases, float8_e5m2, "OCP OFP8 1.0, E5M2", ""},
    catalog_entry{"float8_e4m3fnuz", e4m3fnuz_aliases, float8_e4m3fnuz, "arXiv 2206.02915",
                  "one zero, one NaN, no infinity: overflow becomes NaN, or 240 when saturating"},
    catalog_entry{"float8_e5m2fnuz", e5m2fnuz_aliases, float8_e5m2fnuz, "arXiv 2206.02915",
                  "one zero, one NaN, no infinity: overflow becomes NaN, or 57344 when saturating"},
    catalog_entry{"float6_e3m2", e3m2_aliases, float6_e3m2, "OCP MX 1.0, E3M2",
                  "every code is a number: overflow and NaN become 28; e3m2 alone is IEEE-style"},
    catalog_entry{"float6_e2m3", e2m3_aliases, float6_e2m3, "OCP MX 1.0, E2M3",
                  "every code is a number: overflow and NaN become 7.5; e2m3 alone is IEEE-style"},
    catalog_entry{"float4_e2m1", e2m1_aliases, float4_e2m1, "OCP MX 1.0, E2M1",
                  "every code is a number: overflow and NaN become 6; e2m1 alone is IEEE-style"},
    catalog_entry{"float8_e8m0", e8m0_aliases, float8_e8m0, "OCP MX 1.0, E8M0",
                  "the scale of a block, a power of two, for conversion only: no sign, no zero"},
    catalog_entry{"dlfloat16", dlfloat16_aliases, dlfloat16, "IBM, ARITH 2019; US 2019/0369960",
                  "no subnormals, one special for NaN and infinity, rounds to nearest-away by its own definition"},
    catalog_entry{"binary8p3se", p3_aliases, binary8p3se, p3109, p3109_note},
    catalog_entry{"binary8p4se", p4_aliases, binary8p4se, p3109, p3109_note},
    catalog_entry{"binary8p5se", p5_aliases, binary8p5se, p3109, p3109_note},
};

// Names of ml_dtypes for what the pattern says too.
struct other_name {
  std::string_view name;
  std::string_view pattern;
};
constexpr std::array other_names{
    other_name{"float8_e3m4", "e3m4"},
    other_name{"float8_e4m3", "e4m3"},
    other_name{"float8_e4m3b11fnuz", "e4m3,bias=11,specials=fnuz"},
    other_name{"e4m3b11fnuz", "e4m3,bias=11,specials=fnuz"},
};

// Words of OCP for several formats.
struct family {
  std::string_view name;
  std::string_view members;
};
constexpr std::array families{
    family{"fp8", "E4M3 (float8_e4m3fn) and E5M2 (float8_e5m2)"},
    family{"fp6", "E3M2 (float6_e3m2) and E2M3 (float6_e2m3)"},
};

struct specials_name {
  std::string_view name;
  specials top;
};
constexpr std::array specials_names{
    specials_name{"ieee", specials::ieee},
    specials_name{"fn", specials::nan_all_ones},
    specials_name{"fnuz", specials::nan_negative_zero},
    specials_name{"none", specials::none},
    specials_name{"p3109", specials::nan_negative_zero_and_infinity},
};

// A decimal without leading zero or plus sign, the whole of `text`.
std::optional<int> integer(std::string_view text) noexcept {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  if (digits.front() == '0' && text.size() > 1) return {};
  return value;
}

// E and M of e<E>m<M>.
std::optional<std::pair<int, int>> exmy(std::string_view name) noexcept {
  const std::size_t m = name.find('m');
  if (name.size() < 4 || name.front() != 'e' || m == std::string_view::npos || m + 1 == name.size() || m < 2) return {};
  const auto exponent = integer(name.substr(1, m - 1));
  const auto fraction = integer(name.substr(m + 1));
  if (!exponent || !fraction) return {};
  return std::pair{*exponent, *fraction};
}

std::string quoted(std::string_view text) { return "'" + std::string{text} + "'"; }

// As AMD's formats and P3109's have it: the exponent that infinity and NaN do not take goes to the small numbers.
constexpr int usual_bias(int exponent_bits, specials top) noexcept {
  return (1 << (exponent_bits - 1)) - (format{.top = top}.nan_is_negative_zero() ? 0 : 1);
}

// Bits, precision, sign and domain of a name of P3109: binary<K>p<P> and two letters, or gfloat's p3109_k<K>p<P>.., or
// p3109_p<P> for K = 8 and se.
struct p3109_name {
  int bits = 8;
  int precision = 0;
  bool has_sign = true;
  bool has_infinity = true;
};
std::optional<p3109_name> read_p3109(std::string_view name) noexcept {
  p3109_name read;
  const bool is_short = name.starts_with("p3109_p");
  for (const std::string_view begin : {"binary", "p3109_k", "p3109_"})
    if (name.starts_with(begin)) {
      name.remove_prefix(begin.size());
      break;
    }
  const std::size_t p = name.find('p');
  if (p == std::string_view::npos || name.size() < p + (is_short ? 2 : 4)) return {};
  const std::string_view letters = is_short ? "se" : name.substr(name.size() - 2);
  const auto bits = is_short ? std::optional{8} : integer(name.substr(0, p));
  const auto precision = integer(name.substr(p + 1, name.size() - p - (is_short ? 1 : 3)));
  if (!bits || !precision) return {};
  if ((letters[0] != 's' && letters[0] != 'u') || (letters[1] != 'e' && letters[1] != 'f')) return {};
  return p3109_name{*bits, *precision, letters[0] == 's', letters[1] == 'e'};
}

// What the options of e<E>m<M> say.
struct options {
  std::optional<int> bias;
  std::optional<specials> top;
  std::optional<lowest_binade> bottom;
};

// Sets what `option`, "key=value", says; returns what is wrong with it.
std::string read_option(std::string_view option, options& o) {
  const std::size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
  const auto set = [&](auto& field, auto given, std::string_view expected) {
    if (field) return std::string{key} + " is given twice";
    field = given;
    return field ? std::string{} : std::string{key} + " cannot be " + quoted(value) + ": " + std::string{expected};
  };
  if (key == "bias") return set(o.bias, integer(value), "an integer");
  if (key == "specials") {
    const auto* const row = std::find_if(specials_names.begin(), specials_names.end(),
                                         [&](const specials_name& n) { return n.name == value; });
    return set(o.top, row == specials_names.end() ? std::nullopt : std::optional{row->top},
               "one of ieee, fn (NaN in the all-ones code only), fnuz (NaN in the code of -0 only), none, p3109 (as "
               "fnuz, and infinity in the all-ones code)");
  }
  if (key == "subnormals") {
    std::optional<lowest_binade> bottom;
    if (value == "yes") bottom = lowest_binade::subnormals;
    if (value == "no") bottom = lowest_binade::normals_and_zero;
    return set(o.bottom, bottom, "yes or no");
  }
  return "no option " + quoted(option) +
         ": they are bias=N, specials=ieee|fn|fnuz|none|p3109, subnormals=yes|no, max=X, separated by commas";
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::atomic<ambiguous_name_listener> listener = nullptr;

parsed<format> read_format(std::string_view name);

const catalog_entry* entry_spelled(std::string_view name) noexcept {
  for (const catalog_entry& row : rows)
    if (row.name == name || std::find(row.aliases.begin(), row.aliases.end(), name) != row.aliases.end()) return &row;
  return nullptr;
}

// The entry that OCP has another word for than the pattern of the same letters, and that word: where `name` is one of them.
std::pair<const catalog_entry*, std::string_view> of_ocp(std::string_view name) {
  for (const catalog_entry& row : rows)
    for (const std::string_view word : row.aliases) {
      const std::string pattern = lower(word);
      if (pattern != word && (name == word || name == pattern || lower(name) == "float8_" + pattern))
        return {&row, word};
    }
  return {nullptr, ""};
}

// "e4m3 is IEEE-style, ...; OCP's E4M3 is float8_e4m3fn, ...", whichever of them `name` is.
std::string ocp_note(std::string_view name, std::string_view word, const catalog_entry& row) {
  const auto largest = [](const format& f) { return exact_decimal(decode(f, f.max_finite_code())); };
  const std::string pattern = lower(word);
  const format ieee = *read_format(pattern).value;
  const std::string of_ocp = std::string{row.name} + ", which ends at " + largest(row.format);
  const std::string of_ieee = "IEEE-style, with infinities, and ends at " + largest(ieee);
  const std::string clear = "; to be clear write " + std::string{row.name} + " or " + pattern + ",specials=ieee";
  if (name == word) return std::string{word} + " is OCP's: " + of_ocp + "; " + pattern + " is " + of_ieee + clear;
  return std::string{name} + " is " + of_ieee + "; OCP's " + std::string{word} + " is " + of_ocp + clear;
}

}  // namespace

std::span<const catalog_entry> format_catalog() noexcept { return rows; }

const catalog_entry* find_entry(std::string_view name) {
  const catalog_entry* const entry = entry_spelled(name);
  return entry != nullptr ? entry : entry_spelled(lower(name));
}

namespace {

// Every number of a format must be one of float64: then it prints, scales and converts without a rounding of its own. What
// the bias may be for that, or that there is none; empty where it is one of these.
std::string fault_of_bias(const format& f) {
  // A bias larger by one makes all exponents smaller by one.
  format unbiased = f;
  unbiased.bias = 0;
  const int least = unbiased.emax() - binary64.emax();
  const int most = unbiased.min_quantum_exponent() - binary64.min_quantum_exponent();
  if (least <= f.bias && f.bias <= most) return "";
  const std::string why = "every number of a format must be one of float64, ";
  return least > most ? why + "and no bias achieves that"
                      : why + "so the bias must be in " + std::to_string(least) + ".." + std::to_string(most) +
                            ", not " + std::to_string(f.bias);
}

// Where `name` is one of P3109's: the format, or what is wrong with it.
std::optional<parsed<format>> p3109_format(std::string_view name) {
  const auto read = read_p3109(name);
  if (!read) return {};
  const auto [bits, precision, has_sign, has_infinity] = *read;
  if (!has_sign)
    return parsed<format>{{},
                          "P3109's formats without sign are not here, only the signed ones, binary<K>p<P>se and sf"};
  const int exponent_bits = bits - precision;
  if (precision < 2 || precision > 53 || exponent_bits < 2 || exponent_bits > 11)
    return parsed<format>{{}, "of P3109's formats those of precision 2..53 with 2..11 exponent bits, K - P, are here"};
  format f = p3109_extended(bits, precision);
  if (!has_infinity) f.top = specials::nan_negative_zero;
  const std::string fault = fault_of_bias(f);
  return fault.empty() ? parsed<format>{f, ""} : parsed<format>{{}, fault};
}

std::string text_of_number(const format& of, std::uint64_t number) {
  constexpr std::size_t short_enough = 20;
  const unpacked x = decode(of, number);
  const std::string decimal = exact_decimal(x);
  return decimal.size() <= short_enough ? decimal : hexadecimal(x);
}

// `f` with the number of this text as its largest result; or what is wrong with it.
parsed<format> with_max(format f, std::string_view text) {
  const auto x = parse_number(text);
  if (!x) return {{}, "max cannot be " + quoted(text) + ": a number"};
  const rounding down{.direction = direction::toward_zero, .overflow = overflow_mode::saturate};
  const encoded number = encode(f, *x, down);
  const std::uint64_t least = f.min_normal_code();
  const std::uint64_t last = f.last_number_code();
  const bool positive = x->kind == number_class::finite && !x->negative;
  if (positive && number.flags == status::none && number.code >= least && number.code <= last) {
    f.withheld = last - number.code;
    return {f, ""};
  }
  const bool is_large = (positive || x->kind == number_class::infinity) && !x->negative;
  const std::uint64_t below = std::clamp(is_large ? number.code : least, least, std::max(least, last - 1));
  return {{},
          "max cannot be " + std::string{text} + ", only a normal number of " + to_string(f) + "; the nearest are " +
              text_of_number(f, below) + " and " + text_of_number(f, std::min(below + 1, last))};
}

// A name without its options max=..., and what these say.
struct name_and_max {
  std::string name;
  std::vector<std::string> max;
};
name_and_max apart(std::string_view name) {
  constexpr std::string_view key = "max=";
  name_and_max all;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (begin > 0 && lower(part.substr(0, key.size())) == key)
      all.max.emplace_back(part.substr(key.size()));
    else
      all.name.append(begin > 0 ? "," : "").append(part);
    begin = end + 1;
  }
  return all;
}

parsed<format> read_format(std::string_view name) {
  if (const catalog_entry* row = find_entry(name)) return {row->format, ""};
  const auto wrong = [&](const std::string& what) {
    return parsed<format>{{}, "format " + quoted(name) + ": " + what};
  };
  if (const name_and_max given = apart(name); !given.max.empty()) {
    if (given.max.size() > 1) return wrong("max is given twice");
    const parsed<format> whole = read_format(given.name);
    if (!whole.value) return whole;
    const parsed<format> limited = with_max(*whole.value, given.max.front());
    return limited.value ? limited : wrong(limited.error);
  }
  const std::size_t comma = name.find(',');
  const std::string head = lower(name.substr(0, comma));
  for (const other_name& other : other_names)
    if (comma == std::string_view::npos && other.name == head) return read_format(other.pattern);
  if (const auto of_p3109 = comma == std::string_view::npos ? p3109_format(head) : std::nullopt)
    return of_p3109->value ? *of_p3109 : wrong(of_p3109->error);
  const auto fields = exmy(head);
  if (!fields) {
    for (const family& several : families)
      if (several.name == head) return wrong("ambiguous name; use one of " + std::string{several.members});
    if (const block_format* const blocks = find_block_format(head)) {
      if (const auto in_shape = read_block_format(name); !in_shape.value) return {{}, "format " + in_shape.error};
      return wrong("a format of blocks, which numbers alone do not have; its elements are " +
                   std::string{blocks->element.name} + " (ulp convert --to " + head + " quantizes arrays)");
    }
    if (comma != std::string_view::npos && (find_entry(head) != nullptr || read_p3109(head)))
      return wrong("options but max=X follow e<E>m<M>, not names");
    std::string hint;
    for (const std::string& near : similar_format_names(head)) hint += (hint.empty() ? "; near: " : ", ") + near;
    return {
        {},
        "unknown format " + quoted(name) + hint +
            "; `ulp formats` lists them, others are e<2..11>m<1..52>[,bias=N][,specials=...][,subnormals=...], and any "
            "with ,max=X"};
  }
  if (entry_spelled(name.substr(0, comma)) != nullptr && head != name.substr(0, comma))
    return wrong("options follow e<E>m<M>, not OCP's name: write " + head);
  const auto [exponent_bits, fraction_bits] = *fields;
  if (exponent_bits < 2 || exponent_bits > 11 || fraction_bits < 1 || fraction_bits > 52)
    return wrong("e<E>m<M> has E in 2..11 and M in 1..52");

  options o;
  std::string_view rest = comma == std::string_view::npos ? "" : name.substr(comma);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (const std::string error = read_option(rest.substr(0, end), o); !error.empty()) return wrong(error);
    rest.remove_prefix(end);
  }
  format f{.exponent_bits = exponent_bits,
           .fraction_bits = fraction_bits,
           .top = o.top.value_or(specials::ieee),
           .bottom = o.bottom.value_or(lowest_binade::subnormals)};
  f.bias = o.bias.value_or(usual_bias(exponent_bits, f.top));
  const std::string fault = fault_of_bias(f);
  return fault.empty() ? parsed<format>{f, ""} : wrong(fault);
}

}  // namespace

parsed<format> parse_format(std::string_view name) {
  if (const ambiguous_name_listener tell = listener) {
    const std::string whole = apart(name).name;
    if (const auto [row, word] = of_ocp(whole); row != nullptr) tell(row->name, ocp_note(whole, word, *row));
  }
  return read_format(name);
}

std::optional<format> find_format(std::string_view name) { return parse_format(name).value; }

std::string note_on_name(std::string_view name) {
  const std::string whole = apart(name).name;
  const auto [row, word] = of_ocp(whole);
  return row == nullptr ? "" : ocp_note(whole, word, *row);
}

void listen_for_ambiguous_names(ambiguous_name_listener tell) noexcept { listener = tell; }

std::string to_string(const format& f) {
  for (const catalog_entry& row : rows)
    if (row.format == f) return std::string{row.name};
  if (f.withheld != 0) {
    format whole = f;
    whole.withheld = 0;
    return to_string(whole) + ",max=" + text_of_number(f, f.max_finite_code());
  }
  const int bits = f.width();
  if (f.top == specials::nan_negative_zero_and_infinity && f == p3109_extended(bits, f.precision()))
    return "binary" + std::to_string(bits) + "p" + std::to_string(f.precision()) + "se";
  std::string text = "e" + std::to_string(f.exponent_bits) + "m" + std::to_string(f.fraction_bits);
  if (f.bias != usual_bias(f.exponent_bits, f.top)) text += ",bias=" + std::to_string(f.bias);
  for (const specials_name& n : specials_names)
    if (n.top == f.top && f.top != specials::ieee) text += ",specials=" + std::string{n.name};
  if (f.bottom == lowest_binade::normals_and_zero) text += ",subnormals=no";
  if (!f.has_zero()) text += ",zero=no";
  if (!f.has_sign) text += ",sign=no";
  return text;
}

std::vector<std::string> similar_format_names(std::string_view typed) {
  const std::string name = lower(typed);
  std::multimap<std::size_t, std::string_view> near;  // by distance; equal ones in the catalogue's order
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  const auto consider = [&](std::string_view candidate) {
    const std::size_t distance = candidate.starts_with(name) ? 0 : edit_distance(name, candidate);
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
