// Folders of dumps, where a command takes them.
#ifndef ULP_ASK_PRECISION_DUMP_FILES_HPP
#define ULP_ASK_PRECISION_DUMP_FILES_HPP

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// The inputs, with the files of a folder in its place, in the order of their names, numbers by value. `of`: what a folder should
// hold, in words. Throws input_error where one is empty.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& inputs, std::string_view of);

}  // namespace ulp

#endif
