// What fuzz targets share: the input as a file, and what must hold whatever the input is. A target ends the program where
// it does not hold: anything but input_error is thrown, an error is no line that names the file.
#ifndef ULP_TESTS_FUZZ_SUPPORT_HPP
#define ULP_TESTS_FUZZ_SUPPORT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <ulp/io/source/source.hpp>

#include "dumps/dumps.hpp"

namespace ulp::fuzz {

using bytes = std::span<const std::uint8_t>;

// Calls `read` with the path of a file of these bytes that lies in memory.
void with_file(bytes input, const std::function<void(const std::string& path)>& read);
// The same on a real file system, for libraries that look beside the file.
void with_named_file(bytes input, const std::function<void(const std::string& path)>& read);

// Reads a source to its end.
void read_all(source& from);
// Reads a recording in each way that there is.
void read_recording(const std::string& path);
// Opens a dump and counts all its tensors, with everything that can be counted.
void read_dump(bytes input, decltype(io::dump_file::open) open);

// Ends the program, with the reason on stderr.
[[noreturn]] void wrong(const std::string& reason);

}  // namespace ulp::fuzz

#endif
