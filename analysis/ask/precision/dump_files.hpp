// Dumps whose single numbers a command takes, and folders of them.
#ifndef ULP_ASK_PRECISION_DUMP_FILES_HPP
#define ULP_ASK_PRECISION_DUMP_FILES_HPP

#include <string>
#include <string_view>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/inputs/number_file.hpp>

namespace ulp {

// The inputs, with the files of a folder in its place, in the order of their names, numbers by value. `of`: what a folder should
// hold, in words. Throws input_error where one is empty.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& inputs, std::string_view of);

// A dump, within the limits of `run`; `to` is told of how its numbers are read.
[[nodiscard]] number_file open_numbers(const std::string& path, const run_text& run, listener& to);
void tell_notes(const number_file& file, listener& to);

}  // namespace ulp

#endif
