#include <ulp/ask/questions/recipe_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/name_suggestions.hpp>

namespace ulp {
namespace {

const optimizer_entry& dialect_named(const std::string& name, const std::string& option) {
  if (const optimizer_entry* const entry = find_optimizer(name)) return *entry;
  std::vector<std::string> names;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    names.emplace_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  throw std::invalid_argument(
      fmt::format("{}: no optimizer '{}'{} (see ulp precision optimizer)", option, name, did_you_mean(name, names)));
}

// What a dialect refuses, it refuses where it is made.
void check_recipe(const optimizer_recipe& recipe, const std::string& option) {
  try {
    static_cast<void>(make_optimizer(recipe, 0, "", 0));
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}: {}", option, recipe.dialect->name, problem.what()));
  }
}

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

optimizer_recipe recipe_of(const std::string& text, const std::string& option) {
  const std::vector<std::string> parts = split_at_colons(text);
  optimizer_recipe made{.dialect = &dialect_named(parts.front(), option)};
  std::size_t words = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    // Formats have '=' too, "e5m10,bias=15", but not before their first ','.
    if (const std::size_t equals = part.find('='); equals < part.find(',')) {
      made.parameters.emplace_back(part.substr(0, equals), parse_parameter(part.substr(equals + 1)));
      continue;
    }
    try {
      if (words == 0) made.weights = value_format_named(part);
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(fmt::format("{}: {}: {}", option, text, problem.what()));
    }
    if (words == 1) {
      const auto rounding = parse_weight_rounding(part);
      if (!rounding)
        throw std::invalid_argument(
            fmt::format("{}: {}: weights are rounded own, nearest, stochastic or kahan, not '{}'", option, text, part));
      made.rounding = *rounding;
    }
    if (words++ > 1)
      throw std::invalid_argument(
          fmt::format("{}: '{}' is not of the form DIALECT:FORMAT:ROUNDING:NAME=VALUE", option, text));
  }
  check_recipe(made, option);
  return made;
}

std::vector<std::string> joined_recipes(const std::vector<std::string>& parts) {
  std::vector<std::string> recipes;
  for (const std::string& part : parts)
    if (recipes.empty() || part.find('=') >= part.find(':'))
      recipes.push_back(part);
    else
      recipes.back() += "," + part;
  return recipes;
}

void set_parameter(std::vector<optimizer_recipe>& recipes, const std::string& name, const std::string& value,
                   const std::string& option) {
  bool known = false;
  for (optimizer_recipe& recipe : recipes) {
    const auto& all = recipe.dialect->parameters;
    if (std::ranges::none_of(all, [&](const optimizer_parameter& p) { return p.name == name; })) continue;
    known = true;
    recipe.parameters.emplace_back(name, parse_parameter(value));
    check_recipe(recipe, option);
  }
  if (!known) throw std::invalid_argument(fmt::format("{}: no dialect that is compared has '{}'", option, name));
}

}  // namespace ulp
