// TransformerEngine's recipes as text: transformer_engine/common/recipe/__init__.py (_make_repr) of NVIDIA/TransformerEngine
// @d0067d0d. Recipes get the names that Megatron-LM has for them.
#include <algorithm>
#include <array>
#include <charconv>

#include <ulp/io/config/config_import.hpp>

#include "bytes/ascii.hpp"

namespace ulp {
namespace {

struct recipe_name {
  std::string_view type;
  std::string_view recipe;
};
constexpr std::array recipe_names{recipe_name{"DelayedScaling", "delayed"},
                                  recipe_name{"Float8CurrentScaling", "tensorwise"},
                                  recipe_name{"Float8BlockScaling", "blockwise"},
                                  recipe_name{"MXFP8BlockScaling", "mxfp8"}, recipe_name{"NVFP4BlockScaling", "nvfp4"}};

// The word behind "NAME=", without quotes and without what stands before its last dot: "Format.E4M3".
std::string_view word_of(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; at += name.size()) {
    const bool begins = at == 0 || text.find_first_of(" ,(\n", at - 1) == at - 1;
    if (!begins || text.substr(at + name.size(), 1) != "=") continue;
    std::string_view word = text.substr(at + name.size() + 1);
    word = word.substr(0, word.find_first_of(",) \t\n"));
    const bool quoted = word.size() >= 2 && (word[0] == '\'' || word[0] == '"');
    if (quoted) word = word.substr(1, word.size() - 2);
    return word;
  }
  return {};
}

template <typename T>
std::optional<T> number_of(std::string_view word) {
  T number{};
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return !word.empty() && error == std::errc() && stop == word.data() + word.size() ? std::optional(number)
                                                                                    : std::nullopt;
}

}  // namespace

std::optional<said_float8> parse_recipe(std::string_view text) {
  const auto is_called = [&](const recipe_name& name) { return text.find(name.type) != std::string_view::npos; };
  const auto found = std::ranges::find_if(recipe_names, is_called);
  const std::string_view length = word_of(text, "amax_history_len");
  if (found == recipe_names.end() && length.empty()) return std::nullopt;
  said_float8 said;
  said.recipe = found == recipe_names.end() ? "delayed" : found->recipe;
  const std::string_view printed = word_of(text, "format");
  const std::string_view format = printed.empty() ? word_of(text, "fp8_format") : printed;
  said.format = io::in_small_letters(format.substr(format.find_last_of('.') + 1));
  said.history = number_of<std::uint64_t>(length);
  said.algorithm = word_of(text, "amax_compute_algo");
  said.margin = number_of<double>(word_of(text, "margin"));
  // Of each tensor's QParams; TransformerEngine sets all by one switch.
  if (const std::string_view power = word_of(text, "power_2_scale"); !power.empty())
    said.powers_of_two = power == "True";
  return said;
}

}  // namespace ulp
