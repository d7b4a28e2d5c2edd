// The tables of several tensors as two blobs: their summary records, and their payloads, compressed, in the same order.
#ifndef ULP_IO_ENCODING_TABLES_HPP
#define ULP_IO_ENCODING_TABLES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "numbers.hpp"

namespace ulp::io {

struct table_blobs {
  std::string summary;
  std::string payload;  // not yet compressed

  // `row` under another index.
  void append(const tensor_row& row, std::uint32_t tensor);
};

// What the rows of a blob may be.
struct table_limits {
  std::size_t tensors = 0;  // indices are below
  std::uint64_t numel = max_numel;
  bool merged = false;  // over steps: a tensor once for each type and factor, in this order; else once, in any order
};

class table_reader {
 public:
  // Replaces `into`, whose memory is used again. Throws payload_error.
  void read(std::string_view summary, std::string_view cells, const table_limits& limits,
            std::vector<tensor_row>& into);

 private:
  inflater payloads_;
};

// take_payload from a compressed blob.
void take_next_payload(inflater& from, tensor_row& row, std::uint64_t most);

}  // namespace ulp::io

#endif
