#include <ulp/ask/answers/accumulate_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/io/inputs/number_file.hpp>

#include "../../report/findings/accumulation.hpp"
#include "accumulation_ways.hpp"
#include "configured_formats.hpp"

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

table_value number_if_known(double x) { return value_if(!std::isnan(x), x); }

table_value share(std::uint64_t part, std::uint64_t of) {
  return value_if(of > 0, static_cast<double>(part) / static_cast<double>(of));
}

std::string percent_of(const table_value& share) {
  const double* const x = std::get_if<double>(&share);
  return x == nullptr ? "-" : percent_text({*x, *x});
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

table accumulation_table(const std::vector<accumulation_row>& rows) {
  using row = accumulation_row;
  const auto of = [](auto get) {
    return [get](const row& r) { return r.measured ? table_value{get(*r.measured)} : table_value{}; };
  };
  const auto swamped = [](const row& r) {
    return r.measured && r.way->how.order.kind != sum_order::compensated
               ? share(r.measured->swamped, r.measured->addends)
               : table_value{};
  };
  const auto underflow = [](const row& r) {
    return r.measured ? share(r.measured->underflowed, r.measured->addends) : table_value{};
  };
  const std::vector<column<row>> columns = {
      {"tensor", "", [](const row& r) { return value_if(!r.tensor.empty(), r.tensor); }},
      {"", "tensor", [](const row& r) { return r.tensor.empty() ? "(all)" : r.tensor; }},
      {"format", "format", [](const row& r) { return r.way->format_name; }},
      {"order", "order", [](const row& r) { return r.way->order; }},
      {"microbatches", "", [](const row& r) { return integer(r.microbatches); }},
      {"numel", "", [](const row& r) { return integer(r.numel); }},
      {"relative_error", "", [](const row& r) { return number_if_known(r.relative_error); }},
      {"modelled", "", [](const row& r) { return !r.measured; }},
      {"", "rms error",
       [](const row& r) {
         return std::isnan(r.relative_error) ? "-" : fmt::format("{}{:.2e}", r.measured ? "" : "~ ", r.relative_error);
       },
       range_keys::none, alignment::right},
      {"bits_lost", "", of([](const accumulation_errors& e) { return number_if_known(e.bits_lost()); })},
      {"", "bits lost",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->bits_lost()) ? fmt::format("{:.1f}", r.measured->bits_lost())
                                                                   : std::string("-");
       },
       range_keys::none, alignment::right},
      {"largest_error_ulps", "", of([](const accumulation_errors& e) { return number_if_known(e.largest_ulps); })},
      {"", "largest error",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->largest_ulps)
                    ? fmt::format("{:.3g} ulp", r.measured->largest_ulps)
                    : "-";
       },
       range_keys::none, alignment::right},
      {"bias", "", of([](const accumulation_errors& e) { return number_if_known(e.bias()); })},
      {"", "bias",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->bias()) ? fmt::format("{:+.1e}", r.measured->bias())
                                                              : std::string("-");
       },
       range_keys::none, alignment::right},
      {"swamped_share", "", swamped},
      {"", "swamped", [=](const row& r) { return percent_of(swamped(r)); }, range_keys::none, alignment::right},
      {"underflow_share", "", underflow},
      {"", "underflow", [=](const row& r) { return percent_of(underflow(r)); }, range_keys::none, alignment::right},
      {"overflowed", "overflowed", of([](const accumulation_errors& e) { return integer(e.overflowed); })},
      {"nonfinite", "nonfinite", of([](const accumulation_errors& e) { return integer(e.nonfinite); })},
      {"not_normal_share", "",
       [](const row& r) { return r.beyond_normal ? table_value{*r.beyond_normal} : table_value{}; }, range_keys::both},
      {"", "not normal",
       [](const row& r) { return r.beyond_normal ? table_value{percent_text(*r.beyond_normal)} : table_value{}; },
       range_keys::none, alignment::right},
  };
  return table_of(columns, rows);
}

accumulate_answer accumulate_over(const accumulate_question& asked, listener& to) {
  const std::optional<configuration> config = configuration_of(asked.config, {}, asked.run);
  if (config) to.configured(*config);
  std::optional<std::string> said;
  if (config && config->said.accumulates_in) said = config->said.accumulates_in->format;
  const std::vector<accumulation_way> ways = ways_of(asked, formats_in_question(asked.formats, said, usual_sums));
  const std::string& first = asked.run.inputs.front();
  const bool is_folder = std::filesystem::is_directory(first);
  accumulate_answer answer;
  answer.modelled = !is_folder && !is_dump(first, asked.run.how_to_read().limits);
  const std::uint64_t configured = config ? config->said.microbatches.value_or(0) : 0;
  const auto rows =
      answer.modelled ? modelled_accumulation(asked, ways, configured, to) : measured_accumulation(asked, ways, to);
  for (const accumulation_row& r : rows) answer.microbatches = std::max(answer.microbatches, r.microbatches);
  if (config) answer.conclusions.push_back(conclusion_of(rows, config->said));
  for (std::string& line : conclusions_of(rows)) answer.conclusions.push_back(std::move(line));
  answer.rows = accumulation_table(rows);
  return answer;
}

}  // namespace ulp
