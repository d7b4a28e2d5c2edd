#include "values.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <ranges>
#include <set>
#include <span>
#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/hardware_roundings.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/tensor_cores.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/inputs/number_file.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/optimizers/optimizer.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>

namespace ulp::cli {
namespace {

using candidates = std::vector<candidate>;

candidates words(std::initializer_list<std::string_view> all) {
  candidates made;
  for (const std::string_view word : all) made.push_back({std::string{word}});
  return made;
}

void add(candidates& to, std::string_view word, std::string_view meaning = {}) {
  if (std::ranges::find(to, word, &candidate::word) == to.end())
    to.push_back({std::string{word}, std::string{meaning}});
}

candidates formats() {
  candidates all;
  for (const catalog_entry& entry : format_catalog()) {
    add(all, entry.name);
    for (const std::string_view alias : entry.aliases) add(all, alias, entry.name);
  }
  return all;
}

candidates formats_of_blocks() {
  candidates all;
  for (const block_alias& alias : block_aliases()) add(all, alias.name, alias.stands_for);
  for (const block_format& row : block_formats()) add(all, row.name, row.summary);
  return all;
}

// Of the format of blocks that --to names.
candidates dialects_of_blocks(const typed_line& line) {
  candidates all;
  for (const block_dialect& d : block_dialects())
    if (d.format == line.value_of("--to")) add(all, d.dialect, d.row);
  return all;
}

candidates roundings() {
  candidates all =
      words({"nearest-even", "nearest-away", "toward-zero", "toward-positive", "toward-negative", "to-odd",
             "stochastic", "stochastic:A", "stochastic:B", "stochastic:C", "rne", "rna", "rz", "ru", "rd", "ro", "sr"});
  for (const rounding_preset& p : rounding_presets()) add(all, p.name);
  return all;
}

template <typename Entries>
void add_entries(candidates& to, const Entries& entries) {
  for (const auto& entry : entries) {
    add(to, entry.name, entry.summary);
    for (const std::string_view alias : entry.aliases) add(to, alias, entry.name);
  }
}

candidates policies() {
  candidates all;
  add_entries(all, scaler_catalog());
  add_entries(all, fp8_scaler_catalog());
  return all;
}

candidates recipes() {
  candidates all;
  for (const fp8_recipe_entry& entry : fp8_recipe_catalog()) {
    add(all, entry.name, entry.summary);
    for (const std::string_view variant : entry.variants)
      add(all, std::string{entry.name} + ":" + std::string{variant}, entry.summary);
  }
  return all;
}

candidates optimizers() {
  candidates all;
  add_entries(all, optimizer_catalog());
  return all;
}

// The names in "A,B", without what follows a colon.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> all;
  for (const auto part : std::views::split(list, ',')) {
    const std::string name(part.begin(), part.end());
    all.push_back(name.substr(0, name.find(':')));
  }
  return all;
}

void add_parameters(candidates& to, const std::vector<scaler_parameter>& parameters) {
  for (const scaler_parameter& p : parameters)
    add(to, p.name + "=", "default " + to_string(p.value) + (p.meaning.empty() ? "" : ": " + p.meaning));
}

// Of the policies, the recipe or the optimizers that the line names.
candidates parameters(const typed_line& line) {
  candidates all;
  for (const std::string& name : names_in(line.value_of("--dialect")))
    if (const optimizer_entry* const entry = find_optimizer(name)) add_parameters(all, entry->parameters);
  for (const std::string& name : names_in(line.value_of("--scaler"))) {
    if (const scaler_entry* const entry = find_scaler(name)) {
      add_parameters(all, entry->parameters);
      if (!entry->window.empty()) add(all, "window=", "the growth interval of any policy");
    }
    if (const fp8_scaler_entry* const entry = find_fp8_scaler(name)) add_parameters(all, entry->parameters);
  }
  for (const std::string& name : names_in(line.value_of("--recipe")))
    for (const fp8_recipe_entry& recipe : fp8_recipe_catalog())
      if (recipe.name == name)
        if (const fp8_scaler_entry* const entry = find_fp8_scaler(recipe.policy))
          add_parameters(all, entry->parameters);
  return all;
}

candidates states(const typed_line& line) {
  candidates all;
  for (const std::string& name : names_in(line.value_of("--scaler")))
    if (const scaler_entry* const entry = find_scaler(name))
      for (const auto& state : make_scaler(*entry).state()) add(all, state.first + "=");
  return all;
}

candidates operations() {
  candidates all;
  for (const std::string_view name : operation_names()) add(all, name);
  return all;
}

candidates matrix_units() {
  candidates all;
  for (const tensor_core& unit : tensor_cores()) add(all, unit.name);
  return all;
}

candidates limits() {
  candidates all;
  for (const limit_name& limit : limit_names()) add(all, std::string{limit.name} + "=", limit.unit);
  return all;
}

// Of a dump as its header has them; else of the first step, where nobody knows them before.
std::vector<std::string> names_of_tensors(const std::string& file) {
  std::vector<std::string> names;
  try {
    const number_file dump(file);
    for (const number_array& array : dump.arrays()) names.push_back(array.name);
    return names;
  } catch (const std::exception&) {
  }
  try {
    const std::unique_ptr<source> opened = open_source({file});
    if (step first; opened->tensors().empty()) static_cast<void>(opened->next(first));
    for (const tensor_info& tensor : opened->tensors()) names.push_back(tensor.name);
  } catch (const std::exception&) {
  }
  return names;
}

candidates tensors(const typed_line& line) {
  std::set<std::string> names;
  for (const std::string& file : line.arguments)
    if (file != "-")
      for (std::string& name : names_of_tensors(file)) names.insert(std::move(name));
  candidates all;
  for (const std::string& name : names) all.push_back({name});
  return all;
}

// Names as regular expressions; a dot stands for any character, itself too.
candidates expressions(const typed_line& line) {
  candidates all = tensors(line);
  for (candidate& c : all) {
    std::string expression;
    for (const char character : c.word) {
      if (std::string_view{R"([](){}+*?|^$\)"}.find(character) != std::string_view::npos) expression += '\\';
      expression += character;
    }
    c.word = expression;
  }
  return all;
}

candidates kinds() { return words({"weight_grad", "activation_grad", "weight", "update", "activation", "unknown"}); }

// What is known by the option's name, wherever it occurs. Formats are known by the type, F.
struct values_row {
  std::string_view option;
  candidates (*values)(const typed_line&);
};
constexpr std::array rows{
    values_row{"--block", [](const typed_line&) { return formats_of_blocks(); }},
    values_row{"--to",
               [](const typed_line& line) {
                 candidates all = line.command == "diff" ? candidates{} : formats();
                 for (candidate& c : formats_of_blocks()) all.push_back(std::move(c));
                 return all;
               }},
    values_row{"--dialects", dialects_of_blocks},
    values_row{"--rounding", [](const typed_line&) { return roundings(); }},
    values_row{"--scaler", [](const typed_line&) { return policies(); }},
    values_row{"--recipe", [](const typed_line&) { return recipes(); }},
    values_row{"--set", parameters},
    values_row{"--start", states},
    values_row{"--op", [](const typed_line&) { return operations(); }},
    values_row{"--unit", [](const typed_line&) { return matrix_units(); }},
    values_row{"--dialect", [](const typed_line&) { return optimizers(); }},
    values_row{"--kind", [](const typed_line&) { return kinds(); }},
    values_row{"--role",
               [](const typed_line&) {
                 return words({"low", "float32", "unknown"});
               }},
    values_row{"--limit", [](const typed_line&) { return limits(); }},
    values_row{"--factor", [](const typed_line&) { return words({"scale"}); }},
    values_row{"--tensor", expressions},
    values_row{"--check", expressions},
    values_row{"--a", tensors},
    values_row{"--b", tensors},
};

// Of what is known by its place.
candidates arguments(const typed_line& line) {
  if (line.command == "formats") {
    candidates all = formats();
    for (candidate& c : formats_of_blocks()) all.push_back(std::move(c));
    return all;
  }
  if (line.command == "scalers") return policies();
  return {};
}

bool is_file(const option& o) {
  static constexpr std::array places{"INPUT", "OUTPUT", "FILE", "PROBE", "A", "B"};
  return std::ranges::find(places, o.name) != places.end() || o.details.type.starts_with("FILE") ||
         o.details.type.ends_with(".ulp") || o.details.type.ends_with(".npz");
}

}  // namespace

std::string typed_line::value_of(std::string_view name) const {
  const auto reversed = std::views::reverse(values);
  const auto found = std::ranges::find(reversed, name, &std::pair<std::string, std::string>::first);
  return found == reversed.end() ? "" : found->second;
}

std::vector<std::string> names_of(const option& o) {
  std::vector<std::string> all;
  for (const auto part : std::views::split(o.name, ',')) all.emplace_back(part.begin(), part.end());
  return all;
}

choice values_of(const option& o, const typed_line& line, std::string_view begun) {
  choice made{.words = {}, .files = is_file(o)};
  if (!o.details.one_of.empty()) {
    for (const std::string& word : o.details.one_of) made.words.push_back({word});
    return made;
  }
  if (!o.name.starts_with('-')) {
    made.words = arguments(line);
    return made;
  }
  const std::string name = names_of(o).back();
  const auto known = std::ranges::find(rows, name, &values_row::option);
  if (known != rows.end())
    made.words = known->values(line);
  else if (o.details.type == "F" || o.details.type == "F,...")
    made.words = formats();
  // NAME=EXPRESSION
  if (const std::size_t equals = begun.find('='); name == "--group" && equals != begun.npos) {
    made.words = expressions(line);
    for (candidate& c : made.words) c.word.insert(0, begun.substr(0, equals + 1));
  }
  return made;
}

}  // namespace ulp::cli
