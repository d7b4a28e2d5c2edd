#include "block_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/ask/runs/block_trial.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/report/tables/block_trial_table.hpp>

#include "command.hpp"
#include "listening.hpp"

namespace ulp::cli {

bool are_blocks(const std::vector<std::string>& recipes) {
  const auto is_block = [](const std::string& name) { return find_block_format(name) != nullptr; };
  const auto blocks = static_cast<std::size_t>(std::ranges::count_if(recipes, is_block));
  if (blocks > 0 && blocks < recipes.size()) {
    const std::string& other = *std::ranges::find_if_not(recipes, is_block);
    static_cast<void>(fp8_recipe_entry_named(other));  // or there is none of that name
    throw usage_error(
        fmt::format("--recipe: {} has a scale for each block, {} for each tensor: ask for them one after the other",
                    *std::ranges::find_if(recipes, is_block), other));
  }
  return blocks > 0;
}

int sweep_blocks(const std::vector<std::string>& recipes, const run_text& of, const output_options& output,
                 std::uint64_t most) {
  refuse_overwriting_inputs(output, of.files());
  std::vector<const block_format*> rows;
  for (const std::string& name : recipes)
    for (const block_format* row : block_family_named(name, "--recipe").rows)
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
  listening to(output.machine_stdout());
  const std::optional<block_trial> tried = try_blocks(of, of.selected(), rows, to, first_look::yes);
  if (tried->judged().empty())
    throw std::invalid_argument(printable(of.inputs.front()) +
                                ": has no matrix with a finite value other than zero, which blocks are judged by");
  if (tried->left_out() > 0)
    to.note(count_text(tried->left_out(), "step") + " of a tensor with infinities or NaN left out");
  if (tried->may_have_vectors())
    to.note("the shape of some tensors is not recorded: vectors among them are judged as matrices of one row");
  if (const std::optional<std::int64_t> lost = left_out_from({.run = of}, nobody()))
    to.note(fmt::format("the run was lost from step {} on, and these steps count here; leave them out with --steps :{}",
                        *lost, *lost));
  table t = block_trial_table(*tried);
  write_table("sweep-blocks", t, output, false);
  if (output.machine_stdout()) return done;
  fmt::print("{} over {}, the best first\n", count_text(rows.size(), "format"), count_text(tried->steps, "step"));
  print_sentences(
      "",
      fmt::format("held: no more than {} % of a tensor's energy is lost in any step, with what saturates; lose 1/3: "
                  "where training gains little. Vectors and what else no product reads are left out",
                  percent_number(usual_lost_share)));
  const auto is_open = [&](std::size_t i) { return tried->count(i, trial_verdict::not_decided) > 0; };
  if (!tried->from_values && std::ranges::any_of(std::views::iota(std::size_t{0}, rows.size()), is_open))
    print_sentences(
        "",
        "Not decided: what block tables and error ladders do not bound. Dumps decide all, recordings that ulp "
        "record --blocks 32 --with-errors makes of dumps most");
  const std::size_t all = t.rows.size();
  if (all > most) t.rows.resize(most);
  fmt::print("\n{}", to_text(t));
  if (all > most) fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", most, grouped(all));
  return done;
}

}  // namespace ulp::cli
