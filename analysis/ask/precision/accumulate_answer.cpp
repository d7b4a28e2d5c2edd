#include <ulp/ask/precision/accumulate_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/io/inputs/number_file.hpp>

#include "accumulation_ways.hpp"

namespace ulp {
namespace {

const std::vector<std::string> usual_sums{"float16", "bfloat16", "cbfloat16"};

std::uint32_t chunk_of(const std::string& text) {
  std::uint32_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc{} || end != text.data() + text.size() || n == 0)
    throw std::invalid_argument(fmt::format("--chunk: '{}' is not a number from 1 to 4294967295", text));
  return n;
}

}  // namespace

std::vector<accumulation_way> ways_of(const accumulate_question& asked, const std::vector<std::string>& formats) {
  std::vector<accumulation_way> ways{{"float32", "sequential", {}}};
  for (const std::string& name : formats) {
    const format in = value_format_named(name);
    if (in.width() > 32)
      throw std::invalid_argument(
          fmt::format("--format: {} has {} bits; gradients are accumulated in at most 32", name, in.width()));
    const accumulation plain{
        .accumulator = in, .rounding = asked.rounding.value(in), .random = {.seed = asked.rounding.seed}};
    ways.push_back({name, "sequential", plain});
    for (const std::string& text : asked.chunks) {
      accumulation chunked = plain;
      chunked.order = {sum_order::chunks, chunk_of(text)};
      ways.push_back({name, fmt::format("chunks of {}", text), chunked});
      chunked.outer = float32;
      ways.push_back({name, fmt::format("chunks of {}, float32 outside", text), chunked});
    }
    accumulation kahan = plain;
    kahan.order = {sum_order::compensated};
    ways.push_back({name, "Kahan", kahan});
  }
  return ways;
}

accumulate_answer accumulate_over(const accumulate_question& asked, listener& to) {
  // What a file leaves open ("auto") is decided by the one format that is asked for.
  const scenario_text given{.format = asked.formats.size() == 1 ? asked.formats.front() : ""};
  const std::optional<configuration> config = configuration_of(asked.config, given, asked.run);
  if (config) to.configured(*config);
  std::optional<std::string> said;
  if (config && config->said.accumulates_in) said = config->said.accumulates_in->format;
  const std::vector<accumulation_way> ways = ways_of(asked, formats_in_question(asked.formats, said, usual_sums));
  const std::string& first = asked.run.inputs.front();
  const bool is_folder = std::filesystem::is_directory(first);
  accumulate_answer answer;
  answer.modelled = !is_folder && !is_dump(first, asked.run.how_to_read().limits);
  const std::uint64_t configured = config ? config->said.microbatches.value_or(0) : 0;
  answer.rows =
      answer.modelled ? modelled_accumulation(asked, ways, configured, to) : measured_accumulation(asked, ways, to);
  for (const accumulation_row& r : answer.rows) answer.microbatches = std::max(answer.microbatches, r.microbatches);
  if (config) answer.said = config->said;
  return answer;
}

}  // namespace ulp
