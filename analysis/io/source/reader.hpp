// What every reader of one file format gives; open_source puts them together.
#ifndef ULP_IO_SOURCE_READER_HPP
#define ULP_IO_SOURCE_READER_HPP

#include <bit>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"
#include "csv/csv.hpp"

namespace ulp::io {

// The tensors of one file of raw values, one step.
class dump_reader {
 public:
  dump_reader() = default;
  dump_reader(const dump_reader&) = delete;
  dump_reader& operator=(const dump_reader&) = delete;
  virtual ~dump_reader() = default;

  struct tensor {
    std::string name;
    dtype type = dtype::unknown;
    std::endian order = std::endian::little;
    std::vector<std::uint64_t> shape;
    std::uint64_t numel = 0;
    std::uint64_t times = 1;  // that each value of its stream occurs
    bool row_by_row = true;   // its stream has all values, the last index of the shape varying fastest
  };
  // Known from the headers, before any value is read. Tensors of types that are not read (integers, booleans) are
  // left out here and named, with the reason, in `ignored`.
  [[nodiscard]] virtual const std::vector<tensor>& tensors() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& ignored() const = 0;

  // The values of tensors()[index], in any order, to be read whole ones at a time. The reader must outlive the stream.
  // Both throw input_error.
  [[nodiscard]] virtual std::unique_ptr<byte_stream> open(std::size_t index) = 0;

  // The loss scale that the file says its values have, NaN where it says none: a hint, which nothing checks.
  [[nodiscard]] virtual double said_loss_scale() const { return not_known; }

  // Reads what no stream gives, where the format has checksums: what is left out for its type must be of that type.
  virtual void check_ignored() {}
};

// One file of a run, opened again whenever its turn comes.
struct dump_file {
  std::string path;
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits) = nullptr;
};
// The files of one step: together its tensors.
struct dump_step {
  std::int64_t number = 0;
  std::vector<dump_file> files;
};
// What was logged, ascending by step.
using scalar_table = std::vector<std::pair<std::int64_t, step_scalars>>;
// Of that step; nullptr where nothing was.
[[nodiscard]] const step_scalars* logged_at(const scalar_table& scalars, std::int64_t step);

// Steps in ascending order of their numbers. Every header is checked here.
[[nodiscard]] std::unique_ptr<source> open_dumps(std::vector<dump_step> steps, const std::string& description,
                                                 const source_options& options, const scalar_table& scalars);

// By their columns. Kinds are those of the kind column and the prefixes of names; options are applied by with_labels.
[[nodiscard]] bool is_histogram_csv(const csv_reader& rows);
[[nodiscard]] bool is_step_log(const csv_reader& rows);
// `known`: the tensors of a first reading, so that all of them are there from the first step on; or none.
[[nodiscard]] std::unique_ptr<source> open_histogram_csv(csv_reader rows, std::vector<tensor_info> known = {},
                                                         const read_limits& limits = {});
[[nodiscard]] std::unique_ptr<source> open_step_log(csv_reader rows, const read_limits& limits = {});

// A training log that one of the known frameworks printed, from the line that was read already on; nullptr for any other
// text. Throws input_error for a log that does not tell its steps.
[[nodiscard]] std::unique_ptr<source> open_scale_log(line_reader lines, const std::string& first_line);

// From a CSV with a `step` column and any of loss, grad_norm, lr, scale, found_inf, applied.
[[nodiscard]] scalar_table read_scalars(const std::string& path, const read_limits& limits = {});

struct inferred_roles;

// The source as the user's options describe it: kinds and roles by name, factor, scalars of the steps; and what they leave
// open as the values tell.
[[nodiscard]] std::unique_ptr<source> with_labels(std::unique_ptr<source> inner, const source_options& options,
                                                  scalar_table scalars, inferred_roles inferred);

}  // namespace ulp::io

#endif
