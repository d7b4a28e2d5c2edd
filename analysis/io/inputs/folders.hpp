// Folders of TensorBoard and of frameworks' dumps, in place of the files in them.
#ifndef ULP_IO_INPUTS_FOLDERS_HPP
#define ULP_IO_INPUTS_FOLDERS_HPP

#include <string>
#include <vector>

namespace ulp::io {

// The inputs, where each folder is replaced by the files in it that are named as TensorBoard's event files are, in the order of
// their names; folders within do not count for these; where there are none, by those of files_in_layout. Other folders stay as they are.
[[nodiscard]] std::vector<std::string> with_files_of_folders(const std::vector<std::string>& inputs);

// "run/*/*.safetensors": what a shell writes for the files of that folder, or of the folders in it, whose names end with one of
// these; the uppermost, and of those the first by name, decide. Empty where there are none among the first thousands.
[[nodiscard]] std::string pattern_of_files(const std::string& folder, const std::vector<std::string>& endings);

}  // namespace ulp::io

#endif
