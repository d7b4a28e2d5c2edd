// Recordings that were altered, with checksums that fit: what whoever makes a file to do harm would give them.
#ifndef ULP_TESTS_IO_MENDED_HPP
#define ULP_TESTS_IO_MENDED_HPP

#include <cstdint>
#include <string>

namespace ulp::test {

// Gives every row its checksum, as far as the tables are there.
void mend_checksums(const std::string& path);

// Runs statements on a database; what they give first, as an integer. Throws std::runtime_error.
std::int64_t damage(const std::string& path, const std::string& sql);

// Both.
std::int64_t alter(const std::string& path, const std::string& sql);

}  // namespace ulp::test

#endif
