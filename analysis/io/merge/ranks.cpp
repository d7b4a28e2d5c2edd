#include <ulp/io/merge/ranks.hpp>

#include "recording/schema.hpp"

namespace ulp {

bool holds_the_same(const run_header& header) noexcept {
  return header.world <= 1 || (header.layout == "replica" && header.reduction == "reduced");
}

bool is_complete(const run_header& header, const std::vector<std::uint32_t>& ranks) noexcept {
  return holds_the_same(header) || ranks.size() >= header.world;
}

std::string name_of_ranks(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  if (ranks.empty()) return text + "unknown";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i == 2 ? "," : "-") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

void rank_coverage::see(const step_key& key, const std::vector<std::uint32_t>& ranks) {
  ++rows_;
  several_ = several_ || ranks.size() > 1;
  if (is_complete(header_, ranks)) return;
  if (incomplete_++ > 0) return;
  first_ = key;
  first_ranks_ = ranks;
}

std::string rank_coverage::text() const {
  if (incomplete_ == 0) return "";
  const std::string has = name_of_ranks(first_ranks_) + " of " + std::to_string(header_.world);
  const std::string which = incomplete_ == rows_ ? "every step lacks ranks"
                            : incomplete_ == 1
                                ? "1 of " + std::to_string(rows_) + " steps lacks ranks"
                                : std::to_string(incomplete_) + " of " + std::to_string(rows_) + " steps lack ranks";
  return which + ", the first is " + io::describe(first_) + ", which has " + has;
}

std::string rank_coverage::warning(const std::string& input) const {
  if (incomplete_ == 0) return "";
  return input + ": " + text() + ": only the ranks present are counted; ulp merge adds the recordings of other ranks";
}

std::string rank_coverage::note(const std::string& input) const {
  if (header_.world > 1 && header_.reduction == "reduced")
    return input + ": holds gradients that were reduced over " + std::to_string(header_.world) +
           " ranks: each rank overflows before that, at smaller scales than these gradients show, and underflows by "
           "itself; the recorder's local=True keeps the gradients of each rank";
  if (!several_ || header_.layout != "replica" || holds_the_same(header_)) return "";
  return input +
         ": holds the gradients of several ranks before they are reduced, counted together: norms are of all of them, "
         "not of their mean";
}

}  // namespace ulp
