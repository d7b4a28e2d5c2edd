// Builds TensorBoard event files byte by byte: protocol buffers and frames as their descriptions say, without a line of the
// project's reader.
#ifndef ULP_TESTS_IO_TF_BUILDERS_HPP
#define ULP_TESTS_IO_TF_BUILDERS_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace ulp::test {

// Bit by bit.
[[nodiscard]] std::uint32_t slow_crc32c(const std::string& bytes);

// Fields of a message.
[[nodiscard]] std::string pb_varint(std::uint64_t value);
[[nodiscard]] std::string pb_int(int field, std::uint64_t value);
[[nodiscard]] std::string pb_double(int field, double value);
[[nodiscard]] std::string pb_float(int field, float value);
[[nodiscard]] std::string pb_bytes(int field, const std::string& bytes);
[[nodiscard]] std::string pb_doubles(int field, const std::vector<double>& values);  // packed

struct made_histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
  bool packed = true;
};

// Values of a summary.
[[nodiscard]] std::string tf_scalar(const std::string& tag, float value);
[[nodiscard]] std::string tf_histogram(const std::string& tag, const made_histogram& h);
// Rows of left, right, count; with the metadata of the first value of a tag, or without.
[[nodiscard]] std::string tf_tensor_histogram(const std::string& tag, const std::vector<double>& rows,
                                              bool metadata = true, bool as_content = true);
[[nodiscard]] std::string tf_tensor_scalar(const std::string& tag, float value);

[[nodiscard]] std::string tf_record(const std::string& data);
// An event with these values.
[[nodiscard]] std::string tf_event(std::int64_t step, const std::vector<std::string>& values);
[[nodiscard]] std::string tf_restart(std::int64_t step);
// The event that every file begins with.
[[nodiscard]] std::string tf_begin(double wall_time = 1);

}  // namespace ulp::test

#endif
