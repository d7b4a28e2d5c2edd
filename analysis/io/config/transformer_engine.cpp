// TransformerEngine's recipes as calls of Python, and as text that it prints: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/common/recipe/__init__.py (names, defaults, _make_repr).
#include <algorithm>
#include <array>

#include <ulp/io/bytes/error.hpp>

#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

// What is said of the loss scale: nothing.
void take(import_run& run, said_float8 said) {
  run.out.framework = "TransformerEngine";
  run.out.scaler = "none";
  run.out.float8 = std::move(said);
}

void import_transformer_engine(import_run& run, const config_entry& root) {
  // As it would be written on one line, for the one reader of recipes.
  std::string call;
  for (const config_entry& e : root.value.entries) {
    if (e.key == "0")
      throw input_error(run.file, at_line(e.line),
                        "gives the recipe a value without a name; write margin=..., if it is the first");
    if (e.value.what == config_node::kind::scalar)
      call += e.key == "()" ? e.value.text.substr(e.value.text.find_last_of('.') + 1) + "("
                            : e.key + "=" + e.value.text + ", ";
  }
  std::optional<said_float8> said = parse_recipe(call + ")");
  if (!said) throw input_error(run.file, at_line(root.line), "names no recipe of TransformerEngine");
  const auto is_given = [&](std::string_view key) { return root.value.find(key) != nullptr; };
  const auto by_default = [&](const char* key, const std::string& value) {
    run.means(std::string{key} + " is not given", "TransformerEngine's default, " + value);
  };
  if (said->recipe == "delayed") {
    if (!is_given("amax_history_len")) by_default("amax_history_len", std::to_string(said->history.emplace(1024)));
    if (!is_given("amax_compute_algo")) by_default("amax_compute_algo", said->algorithm = "max");
    if (!is_given("margin")) by_default("margin", std::to_string(static_cast<int>(said->margin.emplace(0))));
  }
  if (!is_given("fp8_format") && (said->recipe == "delayed" || said->recipe == "tensorwise"))
    by_default("fp8_format", said->format = "hybrid");
  if (is_given("scaling_factor_compute_algo"))
    throw input_error(run.file, at_line(root.value.find("scaling_factor_compute_algo")->line),
                      "scaling_factor_compute_algo is a function of the program's own, whose scales are not replayed");
  take(run, *std::move(said));
}

// Where a recipe begins that a line of text holds; npos where there is none.
std::size_t begin_of_print(std::string_view text) {
  const std::size_t named = text.find("recipe_type=");
  if (named != std::string_view::npos || text.find("amax_history_len=") == std::string_view::npos) return named;
  return text.find("margin=");  // of versions before 2.0
}

}  // namespace

bool import_printed_recipe(import_run& run, std::string_view text) {
  if (is_named(run.file, {".py", ".sh", ".yaml", ".yml", ".json", ".toml"}) ||
      text.find("--") != std::string_view::npos)
    return false;
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(" \t\r\n") + 1, text.size()));
  const std::size_t begin = begin_of_print(text);
  if (begin == std::string_view::npos || text.substr(0, begin).find('\n') != std::string_view::npos) return false;
  const std::string_view print = text.substr(begin);
  // Line ends stand within the brackets of QParams alone.
  std::ptrdiff_t depth = 0;
  for (const char c : print) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '\n' && depth <= 0) return false;
  }
  std::optional<said_float8> said = parse_recipe(print);
  if (!said) return false;
  if (said->recipe == "delayed" && said->algorithm.empty()) {
    said->algorithm = "max";
    run.note(
        "TransformerEngine does not print amax_compute_algo: its default, max, is taken; --set "
        "amax_compute_algo=most_recent, if the program has that");
  }
  run.means("recipe_type = " + said->recipe, "how 8-bit floats are scaled");
  take(run, *std::move(said));
  return true;
}

program_row transformer_engine_program() {
  return {.name = "TransformerEngine",
          .calls = "DelayedScaling Float8CurrentScaling Float8BlockScaling MXFP8BlockScaling NVFP4BlockScaling",
          .is_part = true,
          .place = written_in::files,
          .import = import_transformer_engine};
}

}  // namespace ulp::io
