#include <ulp/report/tables/random_bits_table.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ulp {
namespace {

constexpr std::array letters{'a', 'b', 'c'};

struct bits_row {
  std::string format;
  int bits;
  const random_bit_need* need;
};

double part(double some, double all) { return all > 0 ? some / all : std::nan(""); }

double part(std::uint64_t some, std::uint64_t all) { return part(static_cast<double>(some), static_cast<double>(all)); }

std::string share_percent(double share) { return std::isnan(share) ? "-" : percent_text({share, share}); }

// A share of the updates, or of their mass, by its key and for people.
template <typename Row>
void add_share(std::vector<column<Row>>& to, const std::string& key, const std::string& title,
               std::function<double(const Row&)> share) {
  to.push_back({key, "", [=](const Row& r) { return value_if(!std::isnan(share(r)), share(r)); }});
  to.push_back({"", title, [=](const Row& r) { return share_percent(share(r)); }, range_keys::none, alignment::right});
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

table rows_by_tensor(const std::vector<tensor_need>& rows, double share) {
  using row = tensor_need;
  std::vector<column<row>> columns = {
      {"tensor", "tensor", [](const row& r) { return r.tensor; }},
      {"format", "format", [](const row& r) { return r.format; }},
      {"numel", "", [](const row& r) { return integer(r.need.numel); }},
      {"updates", "updates", [](const row& r) { return exactly(r.need.updates); }},
  };
  add_share<row>(columns, "lost_nearest_share", "lost, nearest",
                 [](const row& r) { return part(r.need.lost_nearest, r.need.updates); });
  add_share<row>(columns, "lost_mass_nearest_share", "its mass",
                 [](const row& r) { return part(r.need.mass_lost_nearest, r.need.mass); });
  for (std::size_t d = 0; d < letters.size(); ++d)
    columns.push_back({fmt::format("bits_{}", letters[d]),
                       fmt::format("bits {}", static_cast<char>(letters[d] - 'a' + 'A')), [d, share](const row& r) {
                         const auto n = r.need.fewest(static_cast<stochastic_definition>(d), share);
                         return n ? table_value{std::int64_t{*n}} : table_value{};
                       }});
  columns.push_back({"overflowing", "overflowing", [](const row& r) { return exactly(r.need.overflowing); }});
  columns.push_back({"nonfinite", "nonfinite", [](const row& r) { return exactly(r.need.nonfinite); }});
  return table_of(columns, rows);
}

}  // namespace

table random_bits_table(const random_bits_answer& answer) {
  std::vector<bits_row> rows;
  for (const auto& [format, need] : answer.all)
    for (int n = 0; n <= random_bit_need::most_bits; ++n) rows.push_back({format, n, &need});
  return rows_by_bits(rows);
}

table random_bits_by_tensor(const random_bits_answer& answer) {
  return rows_by_tensor(answer.of_tensors, answer.share);
}

}  // namespace ulp
