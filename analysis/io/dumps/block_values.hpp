// A tensor of a dump as a matrix of float32 numbers, and its block tables.
#ifndef ULP_IO_DUMPS_BLOCK_VALUES_HPP
#define ULP_IO_DUMPS_BLOCK_VALUES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/outcomes/quantized_outcomes.hpp>

#include "dump_reader.hpp"

namespace ulp::io {

// The last index varies fastest; leading ones are counted together as rows.
[[nodiscard]] matrix_extent matrix_of(const dump_reader::tensor& of);

// Why its blocks cannot be counted; empty where they can.
[[nodiscard]] std::string why_no_blocks(const dump_reader::tensor& of);
// Likewise why it is not quantized by all of these.
[[nodiscard]] std::string why_not_quantized(const dump_reader::tensor& of, std::span<const block_quantization> by);

// Precondition of all: why_no_blocks, or why_not_quantized, is empty. Throws input_error. The whole tensor is in memory.
[[nodiscard]] std::vector<float> float_values(dump_reader& from, std::size_t index);
// Of blocks along an axis that a vector has not there is none.
[[nodiscard]] std::shared_ptr<const std::vector<block_table>> blocks_of(dump_reader& from, std::size_t index,
                                                                        std::span<const block_extent> blocks);
// Each is of all values; random bits are those of the tensor at that step. Of blocks along an axis that a vector has not there is none.
[[nodiscard]] std::shared_ptr<const std::vector<quantized_outcomes>> quantized_of(
    dump_reader& from, std::size_t index, std::span<const block_quantization> by, std::int64_t step);

}  // namespace ulp::io

#endif
