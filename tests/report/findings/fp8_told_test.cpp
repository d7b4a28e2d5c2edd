// Pins what is told of a run under an FP8 recipe to made-up amaxes of which it is known: TransformerEngine's delayed
// scaling to 448 with a history of one, whose scale is 448 / the amax before.
#include <ulp/report/findings/fp8_told.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>

#include <ulp/report/findings/cards.hpp>

using namespace ulp;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

const std::vector<tensor_info> tensors{{.name = "calm", .kind = tensor_kind::weight},
                                       {.name = "wild", .kind = tensor_kind::weight}};

fp8_question delayed(const std::vector<std::string>& parameters = {"amax_history_len=1"}) {
  return {.run = {}, .recipe = "te_delayed:e4m3", .scaler = {}, .parameters = parameters, .format = {}};
}

struct made_up {
  fp8_question asked = delayed();
  std::vector<double> calm;
  std::vector<double> wild;
  std::optional<live_comparison> live = {};

  [[nodiscard]] fp8_told told() const {
    fp8_replayer by(recipe_of(asked), {});
    for (std::size_t i = 0; i < calm.size(); ++i)
      for (const auto& [tensor, amax] : {std::pair{0U, calm[i]}, {1U, wild[i]}})
        static_cast<void>(by.advance({.step = static_cast<std::int64_t>(i)}, tensor, amax, tensors));
    return tell_recipe_run({.by = by, .tensors = tensors, .steps = calm.size(), .is_of_amaxes = true, .live = live},
                           asked);
  }
};

const finding* topic(const fp8_told& told, std::string_view name) {
  for (const finding& f : told.findings)
    if (f.topic == name) return &f;
  return nullptr;
}

}  // namespace

TEST_CASE("a run whose scales hold is well, and says under what") {
  const fp8_told told = made_up{.calm = {448, 448, 448}, .wild = {448, 440, 448}}.told();
  CHECK(told.under == "te_delayed:e4m3 amax_history_len=1");
  CHECK(told.happened == "nothing saturates; no scale is off by more than a binade");
  CHECK(told.grade == finding_grade::fine);
  CHECK(topic(told, "fp8_amax") == nullptr);
  CHECK(topic(told, "fp8_live") == nullptr);
  CHECK(topic(told, "fp8_underflow") == nullptr);  // amaxes do not tell
}

TEST_CASE("saturating tensors and stale scales are told with the worst of them and where they begin") {
  // At step 3 the scale is 448 / 448, and would have to be 448 / 3584; at step 4 the other way round.
  const fp8_told told = made_up{.calm = {448, 448, 448, 448, 448}, .wild = {448, 448, 448, 3584, 448}}.told();
  const finding& saturates = *topic(told, "fp8_saturation");
  CHECK(saturates.conclusion == "1 of 2 tensors saturates, wild most, in 20 % of its steps");
  CHECK(saturates.grade == finding_grade::trouble);
  CHECK(saturates.tensor == "wild");
  CHECK(*saturates.step == 3);
  CHECK(saturates.evidence == std::vector<std::string>{"wild  in 1 of 5 steps (20 %), from step 3 on"});
  REQUIRE(saturates.bars.size() == 1);
  CHECK(saturates.bars.front().share == value_range{0.2, 0.2});
  const finding& stale = *topic(told, "fp8_stale");
  CHECK(stale.conclusion ==
        "the scales of 1 of 2 tensors are off by more than a binade, that of wild most, in 40 % of its steps");
  CHECK(stale.evidence ==
        std::vector<std::string>{
            "wild  in 2 of 5 steps (40 %), from step 3 on, by up to 3.0 binades too high and 3.0 binades too low"});
  CHECK(told.grade == finding_grade::trouble);
  CHECK(told.happened == saturates.conclusion + "; " + stale.conclusion);
}

TEST_CASE("amaxes that are not finite are told with how long they kept the scale") {
  made_up run{.asked = delayed({"amax_history_len=2"}),
              .calm = {448, 448, 448, 448, 448, 448},
              .wild = {448, infinity, infinity, 448, 448, 448}};
  const finding kept = *topic(run.told(), "fp8_amax");
  CHECK(kept.conclusion ==
        "2 infinite amaxes, first at step 1, kept the scale of 1 of 2 tensors for up to 3 steps in a row");
  CHECK(kept.grade == finding_grade::notable);
  CHECK(*kept.step == 1);
  CHECK(kept.limits.find("te_delayed_bulk: infinity keeps the scale") == 0);
  // Current scaling of this NaN gives no number to multiply by.
  run.asked = {.run = {}, .recipe = "te_current:e4m3", .scaler = {}, .parameters = {}, .format = {}};
  run.wild = {448, 448, 448, 448, 448, std::nan("")};
  const finding spoilt = *topic(run.told(), "fp8_amax");
  INFO(spoilt.conclusion);
  CHECK(spoilt.conclusion.starts_with("one NaN amax, first at step 5, kept "));
}

TEST_CASE("whether the run's own scales are the replay's is told, and where they are not") {
  made_up run{.calm = {448, 448}, .wild = {448, 448}};
  run.live = live_comparison{.steps = 2, .equal_steps = 2, .tensor_steps = 4, .equal_tensor_steps = 4, .first = {}};
  CHECK(topic(run.told(), "fp8_live")->conclusion == "the run's own scales are these, in all 4 steps of a tensor");
  CHECK(topic(run.told(), "fp8_live")->grade == finding_grade::fine);
  run.live->equal_tensor_steps = 3;
  run.live->first = {.step = 1, .tensor = 1, .live = 3, .replayed = 0.1F};
  const fp8_told told = run.told();
  const finding& other = *topic(told, "fp8_live");
  CHECK(
      other.conclusion ==
      "the run's own scales are these in 3 of 4 steps of a tensor; the first other one at step 1, wild: the run had 3, the "
      "replay 0.1");
  CHECK(other.grade == finding_grade::trouble);
  CHECK(told.happened.ends_with(other.conclusion));
  run.live->tensor_steps = run.live->equal_tensor_steps = 0;
  CHECK(topic(run.told(), "fp8_live")->conclusion.starts_with("not known"));
}

TEST_CASE("every finding of a recipe has a card that leads to its scales") {
  made_up run{.calm = {1, 1}, .wild = {1, infinity}};
  run.live.emplace();
  const fp8_told told = run.told();
  CHECK(told.findings.size() == 4);
  for (const finding& f : told.findings) {
    INFO(f.topic);
    REQUIRE(find_card(f.topic) != nullptr);
    CHECK(find_card(f.topic)->view == "tensor-scales");
  }
  CHECK(find_card("fp8_underflow") != nullptr);
}
