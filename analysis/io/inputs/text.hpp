// Texts: what a table holds is seen by its columns, and a training log is known by its lines.
#ifndef ULP_IO_INPUTS_TEXT_HPP
#define ULP_IO_INPUTS_TEXT_HPP

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

namespace ulp::io {

// "-" is standard input. Throws input_error, also for a text of any other layout.
[[nodiscard]] std::unique_ptr<source> open_text(const std::string& path, const source_options& options);

// Tables of one run, each with some of its columns. Throws input_error, also for a text that is no such table.
[[nodiscard]] std::unique_ptr<source> open_tables(const std::vector<std::string>& paths, const source_options& options);

}  // namespace ulp::io

#endif
