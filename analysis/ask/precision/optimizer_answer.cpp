#include <ulp/ask/precision/optimizer_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>

#include "optimizer_input.hpp"

namespace ulp {
namespace {

// What is kept in memory until it is written.
constexpr std::uint64_t most_output = 4'000'000'000;

optimizer_settings settings_of(const std::vector<std::string>& set) {
  optimizer_settings settings;
  for (const std::string& text : set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw std::invalid_argument(fmt::format("--set {}: give NAME=VALUE, as in lr=0.01", text));
    settings.emplace_back(text.substr(0, equals), parse_parameter(std::string_view{text}.substr(equals + 1)));
  }
  return settings;
}

// Ascending, each once. None given: 1, 2, 3, 10, 50, 200 and so on as far as there are steps, and the last.
std::vector<std::int64_t> steps_of(const std::string& text, std::uint64_t last) {
  std::vector<std::int64_t> steps;
  if (text.empty()) {
    for (const std::uint64_t step : {1, 2, 3, 10, 50, 200, 1000, 5000, 20000})
      if (step < last) steps.push_back(static_cast<std::int64_t>(step));
    if (last > 0) steps.push_back(static_cast<std::int64_t>(last));
    return steps;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::uint64_t step = 0;
    const char* const end = text.data() + comma;
    const auto [stop, error] = std::from_chars(text.data() + at, end, step);
    if (error != std::errc() || stop != end || step == 0)
      throw std::invalid_argument(fmt::format("--steps {}: give numbers of steps from 1, separated by commas", text));
    if (step > last)
      throw std::invalid_argument(
          fmt::format("--steps {}: the input has {}, so step {} is beyond it", text, count_text(last, "step"), step));
    steps.push_back(static_cast<std::int64_t>(step));
    at = comma + 1;
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

optimizer_moment moment_of(std::int64_t step, std::span<const float> w, std::span<const float> first) {
  optimizer_moment m{.step = step};
  std::uint64_t finite = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double by = static_cast<double>(w[i]) - static_cast<double>(first[i]);
    if (w[i] != first[i]) ++m.moved;
    if (!std::isfinite(by)) {
      ++m.nonfinite;
      continue;
    }
    ++finite;
    m.rms += by * by;
    m.largest = std::max(m.largest, std::fabs(by));
  }
  m.rms = finite == 0 ? 0 : std::sqrt(m.rms / static_cast<double>(finite));
  return m;
}

optimizer_setup setup_of(const optimizer_question& o, std::size_t size) {
  const parsed<format> weights = parse_format(o.weights);
  if (!weights.value) throw std::invalid_argument("--weights: " + weights.error);
  std::vector<std::string> set = o.set;
  if (!o.learning_rate.empty()) set.push_back("lr=" + o.learning_rate);
  return {.size = size,
          .weights = *weights.value,
          .rounding = *parse_weight_rounding(o.rounding),
          .seed = o.seed,
          .parameters = settings_of(set)};
}

optimizer made(const optimizer_entry& entry, const optimizer_setup& setup) {
  try {
    return make_optimizer(entry, setup);
  } catch (const parameter_error& problem) {
    throw std::invalid_argument(fmt::format("--set: {}: {}", entry.name, problem.what()));
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--weights: {}", problem.what()));
  }
}

optimizer_input_options input_options_of(const optimizer_question& o) {
  return {.inputs = o.inputs,
          .weights = o.first_weights,
          .elements = o.elements,
          .rounded_to = setup_of(o, 0).weights,
          .limits = o.run.how_to_read().limits};
}

// The steps that are kept. Tells of gradients that make no whole step.
std::vector<std::int64_t> kept_steps(const optimizer_question& o, const optimizer_input& input, std::size_t batches,
                                     listener& to) {
  const std::uint64_t last = input.rows() / batches;
  if (last == 0)
    throw std::invalid_argument(fmt::format("{}: has {}, and a step takes {}", o.inputs.front(),
                                            count_text(input.rows(), "gradient"), batches));
  if (input.rows() % batches != 0)
    to.note(fmt::format("{} gradients are no multiple of {} micro-batches: the last {} are left out", input.rows(),
                        batches, input.rows() % batches));
  std::vector<std::int64_t> steps = steps_of(o.steps, last);
  if (input.has_bits() && input.bit_rows() < static_cast<std::uint64_t>(steps.back()))
    throw std::invalid_argument(fmt::format("{}: array 'sr_bits': has {}, and step {} is asked for; give fewer --steps",
                                            o.inputs.front(), count_text(input.bit_rows(), "row"), steps.back()));
  return steps;
}

void refuse_much_output(std::uint64_t bytes, std::size_t steps) {
  if (bytes > most_output / steps)
    throw std::invalid_argument(
        fmt::format("{} steps of {} bytes are more than the {} that an output may have; give fewer --steps "
                    "or --elements",
                    steps, grouped(bytes), grouped(most_output)));
}

}  // namespace

const optimizer_entry& dialect_named(const std::string& name) {
  if (const optimizer_entry* const entry = find_optimizer(name)) return *entry;
  std::vector<std::string> names;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    names.emplace_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  throw std::invalid_argument(fmt::format("--dialect: there is no optimizer '{}'{}; --dialect list shows them all",
                                          name, did_you_mean(name, names)));
}

void check_optimizer(const optimizer_question& asked) {
  static_cast<void>(made(dialect_named(asked.dialect), setup_of(asked, 0)));
}

optimizer_answer optimize_over(const optimizer_question& asked, listener& to) {
  const optimizer_entry& entry = dialect_named(asked.dialect);
  optimizer_input input(input_options_of(asked), to);
  const optimizer_setup setup = setup_of(asked, input.size());
  optimizer_answer answer{.entry = &entry,
                          .stepped = made(entry, setup),
                          .elements = input.size(),
                          .arrays = optimizer_arrays(setup.weights),
                          .moments = {}};
  optimizer& stepped = answer.stepped;
  const std::size_t batches = stepped.micro_batches();
  const std::vector<std::int64_t> steps = kept_steps(asked, input, batches, to);
  refuse_much_output(answer.arrays.bytes_of_moment(stepped), steps.size());
  std::vector<float> w = input.first_weights();
  round_array(setup.weights, w);
  const std::vector<float> first = w;
  std::vector<float> gradient(input.size() * batches);
  std::vector<std::uint16_t> bits(input.has_bits() ? input.size() : 0);
  work stepping(to, "steps", static_cast<std::uint64_t>(steps.back()));
  for (const std::int64_t recorded : steps) {
    while (stepped.steps() < recorded) {
      for (std::size_t batch = 0; batch < batches; ++batch)
        input.read(std::span{gradient}.subspan(batch * input.size(), input.size()));
      if (!bits.empty()) input.read_bits(bits);
      stepped.step(gradient, w, bits);
      if (!std::isnan(stepped.gradient_norm()) || entry.states.find("grad_norm") != std::string_view::npos)
        answer.arrays.add_norm(stepped.gradient_norm());
      stepping.advance();
    }
    answer.arrays.add(stepped, w);
    answer.moments.push_back(moment_of(recorded, w, first));
  }
  return answer;
}

}  // namespace ulp
