// Folders that TensorBoard reads, in place of the files in them.
#ifndef ULP_IO_INPUTS_FOLDERS_HPP
#define ULP_IO_INPUTS_FOLDERS_HPP

#include <string>
#include <vector>

namespace ulp::io {

// The inputs, where each folder is replaced by the files in it that are named as TensorBoard's event files are, in the order of
// their names. Other folders, and what is in folders within, stay as they are.
[[nodiscard]] std::vector<std::string> with_event_files(const std::vector<std::string>& inputs);

}  // namespace ulp::io

#endif
