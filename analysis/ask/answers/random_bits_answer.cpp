#include <ulp/ask/answers/random_bits_answer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/update_pairs.hpp>

#include "../../report/findings/weights.hpp"
#include "dump_files.hpp"

namespace ulp {
namespace {

constexpr std::array letters{'a', 'b', 'c'};

struct bits_row {
  std::string format;
  int bits;
  const random_bit_need* need;
};

struct tensor_need {
  std::string format;
  std::string tensor;
  const random_bit_need* need;
  double share;
};

double part(double some, double all) { return all > 0 ? some / all : std::nan(""); }

double part(std::uint64_t some, std::uint64_t all) { return part(static_cast<double>(some), static_cast<double>(all)); }

std::string percent(double share) { return std::isnan(share) ? "-" : percent_text({share, share}); }

// A share of the updates, or of their mass, by its key and for people.
template <typename Row>
void add_share(std::vector<column<Row>>& to, const std::string& key, const std::string& title,
               std::function<double(const Row&)> share) {
  to.push_back({key, "", [=](const Row& r) { return value_if(!std::isnan(share(r)), share(r)); }});
  to.push_back({"", title, [=](const Row& r) { return percent(share(r)); }, range_keys::none, alignment::right});
}

table rows_by_bits(const std::vector<bits_row>& rows) {
  using row = bits_row;
  const auto at = [](const row& r) -> const random_bit_need::row& {
    return r.need->bits[static_cast<std::size_t>(r.bits)];
  };
  std::vector<column<row>> columns = {
      {"format", "format", [](const row& r) { return r.format; }},
      {"random_bits", "bits", [](const row& r) { return std::int64_t{r.bits}; }},
      {"updates", "", [](const row& r) { return integer(r.need->updates); }},
  };
  add_share<row>(columns, "below_share", "below", [=](const row& r) { return part(at(r).below, r.need->updates); });
  for (std::size_t d = 0; d < letters.size(); ++d) {
    const std::string letter(1, letters[d]);
    const std::string big(1, static_cast<char>(letters[d] - 'a' + 'A'));
    const auto by = [=](const row& r) -> const stochastic_movement& { return at(r).by[d]; };
    add_share<row>(columns, "never_" + letter + "_share", big + ": never",
                   [=](const row& r) { return part(by(r).never, r.need->updates); });
    add_share<row>(columns, "lost_mass_" + letter + "_share", "mass lost",
                   [=](const row& r) { return part(by(r).mass_never, r.need->mass); });
    columns.push_back({"bias_" + letter + "_ulps", "",
                       [=](const row& r) { return table_value{by(r).bias / static_cast<double>(r.need->updates)}; }});
    columns.push_back(
        {"", "bias",
         [=](const row& r) { return fmt::format("{:+.1e}", by(r).bias / static_cast<double>(r.need->updates)); },
         range_keys::none, alignment::right});
    columns.push_back({"drift_" + letter, "", [=](const row& r) { return table_value{by(r).drift / r.need->mass}; }});
  }
  return table_of(columns, rows);
}

table rows_by_tensor(const std::vector<tensor_need>& rows) {
  using row = tensor_need;
  std::vector<column<row>> columns = {
      {"tensor", "tensor", [](const row& r) { return r.tensor; }},
      {"format", "format", [](const row& r) { return r.format; }},
      {"numel", "", [](const row& r) { return integer(r.need->numel); }},
      {"updates", "updates", [](const row& r) { return exactly(r.need->updates); }},
  };
  add_share<row>(columns, "lost_nearest_share", "lost, nearest",
                 [](const row& r) { return part(r.need->lost_nearest, r.need->updates); });
  add_share<row>(columns, "lost_mass_nearest_share", "its mass",
                 [](const row& r) { return part(r.need->mass_lost_nearest, r.need->mass); });
  for (std::size_t d = 0; d < letters.size(); ++d)
    columns.push_back({fmt::format("bits_{}", letters[d]),
                       fmt::format("bits {}", static_cast<char>(letters[d] - 'a' + 'A')), [d](const row& r) {
                         const auto n = r.need->fewest(static_cast<stochastic_definition>(d), r.share);
                         return n ? table_value{std::int64_t{*n}} : table_value{};
                       }});
  columns.push_back({"overflowing", "overflowing", [](const row& r) { return exactly(r.need->overflowing); }});
  columns.push_back({"nonfinite", "nonfinite", [](const row& r) { return exactly(r.need->nonfinite); }});
  return table_of(columns, rows);
}

struct counted_format {
  std::string name;
  ulp::format format;
  random_bit_need all;
  std::map<std::string, random_bit_need> by_tensor;
};

// How many pairs are selected.
std::size_t count(const update_pairs& pairs, const selection& selected, std::vector<counted_format>& formats,
                  listener& to) {
  std::size_t taken = 0;
  work reading(to, "tensors", pairs.all().size());
  for (std::size_t i = 0; i < pairs.all().size(); ++i) {
    reading.advance();
    const update_pair& pair = pairs.all()[i];
    tensor_info info;
    info.name = pair.weight;
    info.kind = tensor_kind::weight;
    if (!selected.takes(pair.step) || !selected.takes(info)) continue;
    ++taken;
    pairs.read(i, [&](std::span<const double> weights, std::span<const double> updates) {
      for (counted_format& f : formats) {
        const random_bit_need need = random_bits_needed(weights, updates, f.format);
        f.all += need;
        f.by_tensor[pair.tensor] += need;
      }
    });
  }
  return taken;
}

// Of a format in which no update counts.
std::string why_none(const counted_format& f) {
  lost_updates sum{.numel = f.all.numel, .zero_updates = f.all.zero_updates, .nonfinite = f.all.nonfinite};
  sum.overflowing = {f.all.overflowing, f.all.overflowing};
  const std::vector<std::string> parts = not_counted(sum, f.name);
  return fmt::format("{}: no update counts: {}", f.name, fmt::join(parts, ", "));
}

}  // namespace

random_bits_answer random_bits_over(const random_bits_question& asked, listener& to) {
  random_bits_answer answer;
  answer.share = positive_number(asked.share, "--lose");
  if (answer.share > 1) throw std::invalid_argument(fmt::format("--lose: {} is above 1, which is all", asked.share));
  std::vector<counted_format> formats;
  for (const std::string& name : asked.formats) formats.push_back({name, value_format_named(name), {}, {}});
  const source_options how = asked.run.how_to_read();
  const std::vector<std::string> files = files_of(asked.run.inputs, "a dump of each step");
  if (!are_dumps(files, how))
    throw std::invalid_argument(
        fmt::format("{}: random bits are counted element by element, which needs dumps with weights and updates or "
                    "gradients (.safetensors, .npz, .pt, .npy)",
                    asked.run.inputs.front()));
  const double rate = asked.learning_rate.empty() ? not_known : positive_number(asked.learning_rate, "--lr");
  const std::unique_ptr<update_pairs> pairs = open_update_pairs(files, how, rate);
  for (const std::string& line : pairs->notes()) to.note(line);
  const std::string& first = files.front();
  if (count(*pairs, asked.run.selected(), formats, to) == 0)
    throw std::invalid_argument(
        fmt::format("{}: --tensor, --kind, --steps and --every select no weights with updates", first));
  if (formats.front().all.numel == 0) throw std::invalid_argument(first + ": its weights have no elements");

  std::vector<bits_row> by_bits;
  std::vector<tensor_need> by_tensor;
  std::vector<std::string> none;
  for (const counted_format& f : formats) {
    for (const auto& [tensor, need] : f.by_tensor) by_tensor.push_back({f.name, tensor, &need, answer.share});
    if (f.all.updates == 0) {
      none.push_back(why_none(f));
      continue;
    }
    answer.all.emplace_back(f.name, f.all);
    for (int n = 0; n <= random_bit_need::most_bits; ++n) by_bits.push_back({f.name, n, &f.all});
  }
  if (answer.all.empty()) throw std::invalid_argument(fmt::format("{}: {}", first, fmt::join(none, "; ")));
  for (const std::string& line : none) to.note(line);
  answer.rows = asked.by_tensor ? rows_by_tensor(by_tensor) : rows_by_bits(by_bits);
  return answer;
}

}  // namespace ulp
