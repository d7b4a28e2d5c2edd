// What formats whose blocks share a scale make of some tensors and steps of a run, row by row: how far elements lie from their
// scale, and what becomes of them. Where block tables of a row's extents are there they decide; else no more is told than
// what follows from tensors as wholes.
#ifndef ULP_ASK_COLUMNS_BLOCK_COMPARISON_HPP
#define ULP_ASK_COLUMNS_BLOCK_COMPARISON_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/block_exponents.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

namespace ulp {

struct named_block_format {
  std::string name;                   // as typed
  const block_format* row = nullptr;  // of block_formats()
  friend bool operator==(const named_block_format&, const named_block_format&) = default;
};
// Throws std::invalid_argument, which names `option`.
[[nodiscard]] std::vector<named_block_format> block_formats_named(const std::vector<std::string>& names,
                                                                  const std::string& option);
// Where --format of a replay is one of them: throws std::invalid_argument, which says that --block shows it.
void refuse_blocks_as_format(const std::string& format);
// The names that block formats usually have, one for each format.
[[nodiscard]] std::vector<named_block_format> usual_block_formats();

// What compared_blocks::exponents are measured from.
enum class block_basis : std::uint8_t {
  none,          // nothing is known
  scale,         // the scale of the block; of rows with a scale for the tensor, of the tensor
  amax,          // 2^k of the block's largest number: of rows whose scales block tables do not tell
  tensor_scale,  // the scale that the tensor's largest number would ask for, which none of its blocks exceeds
};

struct compared_blocks {
  named_block_format of;
  block_basis basis = block_basis::none;
  bool along_other = false;  // blocks lie down the columns
  block_exponents exponents;
  // With block_basis::scale what becomes of the elements; with tensor_scale the upper end of `underflow` alone is more than
  // that nothing is known.
  block_outcomes outcomes;
  bool has_outcomes = false;
  std::string why_open;        // why outcomes are not counted; empty where they are
  std::uint64_t counted = 0;   // rows of tensors that this is of,
  std::uint64_t left_out = 0;  // and others, which have no such block table
};

class block_comparison {
 public:
  explicit block_comparison(const std::vector<named_block_format>& rows);
  ~block_comparison();
  block_comparison(block_comparison&&) noexcept;
  block_comparison& operator=(block_comparison&&) noexcept;

  // What is to be read, or counted of dumps.
  [[nodiscard]] const std::vector<block_extent>& extents() const noexcept;
  void add(const tensor_row& row);
  [[nodiscard]] std::vector<compared_blocks> result() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
