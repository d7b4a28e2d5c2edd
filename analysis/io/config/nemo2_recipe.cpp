// A recipe of NeMo 2 in Python (NVIDIA/NeMo nemo/collections/llm/recipes) where nothing of its precision is in the file.
#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

// A recipe brings its precision along.
void refuse_recipe(import_run& run, const config_entry& root) {
  throw input_error(
      run.file, at_line(root.line),
      "is a recipe of NeMo 2 (" + root.value.find("()")->value.text +
          "), and does not say trainer.plugins, which holds its precision; write recipe.trainer.plugins = "
          "bf16_mixed(), or MegatronMixedPrecision(...)");
}

}  // namespace

program_row nemo2_recipe_program() {
  return {.name = "NeMo 2",
          .calls = "pretrain_recipe finetune_recipe",
          .holds = "Lightning",
          .place = written_in::files,
          .import = refuse_recipe};
}

}  // namespace ulp::io
