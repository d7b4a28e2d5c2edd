#include "tables.hpp"

#include <cmath>
#include <tuple>
#include <utility>

#include "payload.hpp"

namespace ulp::io {
namespace {

// The new row in the room of the old one: fresh memory for the cells of every step costs as much as reading them.
void refill(tensor_row& row, tensor_row&& with) {
  with.table.cells = std::move(row.table.cells);
  with.table.sums = std::move(row.table.sums);
  with.table.cells.clear();
  with.table.sums.clear();
  row = std::move(with);
}

bool precedes(const tensor_row& a, const tensor_row& b) {
  const auto key = [](const tensor_row& r) {
    const bool known = !std::isnan(r.factor);
    return std::tuple{r.tensor, r.type, known, known ? r.factor : 0};
  };
  return key(a) < key(b);
}

}  // namespace

void take_next_payload(inflater& from, tensor_row& row, std::uint64_t most) {
  constexpr std::size_t longest_head = 20;  // two numbers
  const std::size_t size = payload_size(from.ahead(longest_head));
  const std::string_view all = from.ahead(size);
  if (all.size() < size) throw payload_error("is cut short");
  std::string_view one = all.substr(0, size);
  take_payload(one, row, most);
  from.skip(size);
}

void table_blobs::append(const tensor_row& row, std::uint32_t tensor) {
  append_summary(summary, row, tensor);
  append_payload(payload, row);
}

void table_reader::read(std::string_view summary, std::string_view cells, const table_limits& limits,
                        std::vector<tensor_row>& into) {
  if (summary.size() % summary_size != 0) throw payload_error("its summary has a broken length");
  const std::size_t n = summary.size() / summary_size;
  if (!limits.merged && n > limits.tensors) throw payload_error("has more rows than there are tensors");
  payloads_.open(cells, payload_limit);
  std::vector<bool> seen(limits.tensors);
  into.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    tensor_row& row = into[i];
    const std::string_view record = summary.substr(i * summary_size, summary_size);
    refill(row, parse_summary(record));
    const bool none = row.tensor >= limits.tensors;
    if (none || (limits.merged ? i > 0 && !precedes(into[i - 1], row) : bool{seen[row.tensor]}))
      throw payload_error("a tensor that is unknown or occurs twice");
    seen[row.tensor] = true;
    take_next_payload(payloads_, row, limits.numel);
    check_summary_sums(record, row);
  }
  payloads_.close();
}

}  // namespace ulp::io
