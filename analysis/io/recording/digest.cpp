// The bytes that are hashed are laid down in docs/recording-format.md, "Digest".
#include <algorithm>

#include <ulp/io/recording/recording.hpp>

#include "bytes/sha256.hpp"
#include "encoding/bounds.hpp"
#include "encoding/payload.hpp"

namespace ulp {
namespace {

void append_text(std::string& to, std::string_view text) {
  io::append_u64(to, text.size());
  to += text;
}

// SQLite keeps no zero's sign.
void append_real(std::string& to, double x) { io::append_f64(to, x == 0 ? 0.0 : x); }

void append_flag(std::string& to, std::optional<bool> flag) {
  to += static_cast<char>(flag ? static_cast<int>(*flag) : 2);
}

// The summary record with index 0; sums that are not a source's own follow from the payload.
void append_table(std::string& to, tensor_row& row) {
  row.tensor = 0;
  const std::size_t begin = to.size();
  io::append_summary(to, row);
  io::without_derived_sums(to, begin);
  io::append_payload(to, row);
}

}  // namespace

std::string digest_of(source& from) {
  io::sha256 hash;
  std::string bytes = "ulpscope digest 1\n";
  step now;
  while (from.next(now)) {
    const std::vector<tensor_info>& tensors = from.tensors();
    io::append_u64(bytes, static_cast<std::uint64_t>(now.key.step));
    io::append_u64(bytes, static_cast<std::uint64_t>(std::int64_t{now.key.attempt}));
    io::append_u64(bytes, static_cast<std::uint64_t>(std::int64_t{now.key.microbatch}));
    const step_scalars& x = now.scalars;
    for (const double scalar : {x.loss, x.grad_norm, x.learning_rate, x.loss_scale}) append_real(bytes, scalar);
    append_flag(bytes, x.found_inf);
    append_flag(bytes, x.applied);
    bytes += static_cast<char>(now.max_abs ? 1 : now.bounds ? 2 : 0);
    append_real(bytes, now.max_abs.value_or(0));
    if (!now.max_abs && now.bounds) append_text(bytes, io::to_text(*now.bounds));
    io::append_u64(bytes, now.tensors.size());
    const auto name = [&](const tensor_row& row) -> const std::string& { return tensors[row.tensor].name; };
    std::sort(now.tensors.begin(), now.tensors.end(),
              [&](const tensor_row& a, const tensor_row& b) { return name(a) < name(b); });
    for (tensor_row& row : now.tensors) {
      const tensor_info& info = tensors[row.tensor];
      append_text(bytes, info.name);
      append_text(bytes, to_string(info.kind));
      append_text(bytes, to_string(info.role));
      append_text(bytes, info.through);
      append_table(bytes, row);
    }
    hash.add(bytes);
    bytes.clear();
  }
  hash.add(bytes);
  return hash.hex();
}

}  // namespace ulp
