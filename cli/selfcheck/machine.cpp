// The processor's state, the libraries and the locale.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/io/database/libraries.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/report/tables/table.hpp>
#include <vector>

#include "self_test.hpp"

namespace ulp::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr unsigned flush_bit = 0x8000;
constexpr unsigned daz_bit = 0x0040;
unsigned control_word() { return __builtin_ia32_stmxcsr(); }
void set_control_word(unsigned word) { __builtin_ia32_ldmxcsr(word); }
#else
constexpr unsigned flush_bit = 0;
constexpr unsigned daz_bit = 0;
unsigned control_word() { return 0; }
void set_control_word(unsigned /*word*/) {}
#endif

// The state as it was found comes back.
class state_guard {
 public:
  state_guard() : way_(std::fegetround()), word_(control_word()) {}
  ~state_guard() {
    std::fesetround(way_);
    set_control_word(word_);
  }
  state_guard(const state_guard&) = delete;
  state_guard& operator=(const state_guard&) = delete;

 private:
  int way_;
  unsigned word_;
};

// Numbers that a processor's rounding or flushing would change: subnormal ones of float32, and midpoints of float16.
std::vector<float> delicate_numbers() {
  std::vector<float> all;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    all.push_back(std::bit_cast<float>(0x00000001u + i * 2047));
    all.push_back(std::bit_cast<float>(0x38000000u + i * 4096));
    all.push_back(std::bit_cast<float>(0x80000000u + i * 77777));
  }
  return all;
}

struct delicate_results {
  std::vector<std::uint16_t> low;
  std::vector<std::uint16_t> wide;
  std::vector<std::uint64_t> quotients;
  cell_table cells;
  friend bool operator==(const delicate_results&, const delicate_results&) = default;
};

delicate_results results_of(const std::vector<float>& numbers) {
  delicate_results r;
  r.low.resize(numbers.size());
  r.wide.resize(numbers.size());
  encode_array(float16, numbers, std::span(r.low));
  encode_array(bfloat16, numbers, std::span(r.wide), {.scale = 3, .random = {}});
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 8)
    r.quotients.push_back(div(binary32, decode(numbers[i]), decode(numbers[i + 1])).code);
  r.cells = count_cells(numbers);
  return r;
}

const char* text_of_way(int way) {
  switch (way) {
    case FE_TONEAREST: return "to nearest";
    case FE_UPWARD: return "upward";
    case FE_DOWNWARD: return "downward";
    case FE_TOWARDZERO: return "toward zero";
    default: return "unknown";
  }
}

// A new folder, removed with what is in it.
class scratch_folder {
 public:
  scratch_folder() {
    std::error_code problem;
    path_ = (fs::temp_directory_path(problem) / "ulp-selfcheck-XXXXXX").string();
    if (problem || mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("no folder for temporary files can be made; set TMPDIR to one that is writable");
  }
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (fs::path(path_) / name).string(); }

 private:
  std::string path_;
};

class comma final : public std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

// One that is installed, whose C functions have the comma too; else one for C++ alone.
std::pair<std::locale, std::string> locale_with_comma() {
  for (const char* const name :
       {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "es_ES.UTF-8", "ru_RU.UTF-8"})
    try {
      return {std::locale(name), name};
    } catch (const std::runtime_error&) {
      continue;
    }
  return {std::locale(std::locale::classic(), new comma), "one made here: none with a comma is installed"};
}

}  // namespace

self_test check_processor_state() {
  const state_guard found;
  const unsigned word = control_word();
  self_test done{.name = "processor state",
                 .found =
                     fmt::format("rounding {}, flush-to-zero {}, denormals-are-zero {}", text_of_way(std::fegetround()),
                                 (word & flush_bit) != 0 ? "on" : "off", (word & daz_bit) != 0 ? "on" : "off")};
  const std::vector<float> numbers = delicate_numbers();
  std::fesetround(FE_TONEAREST);
  set_control_word(control_word() & ~(flush_bit | daz_bit));
  const delicate_results expected = results_of(numbers);
  for (const int way : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    for (const unsigned flushing : {0u, flush_bit | daz_bit}) {
      std::fesetround(way);
      set_control_word((control_word() & ~(flush_bit | daz_bit)) | flushing);
      const bool same = results_of(numbers) == expected;
      std::fesetround(FE_TONEAREST);
      set_control_word(control_word() & ~(flush_bit | daz_bit));
      done.compared += 3 * numbers.size();
      if (!same && done.passed())
        done.difference = fmt::format("results differ where the processor rounds {}{}", text_of_way(way),
                                      flushing != 0 ? " and flushes" : "");
    }
  return done;
}

self_test check_sqlite() {
  const sqlite_facts library = sqlite_found();
  self_test done{.name = "SQLite",
                 .found = fmt::format("{} (compiled for {}), {}", library.version, library.compiled,
                                      library.threadsafe ? "threadsafe" : "not threadsafe")};
  if (!library.threadsafe) {
    done.difference = "the library was built without threads; install another one";
    return done;
  }
  try {
    const scratch_folder folder;
    const std::string path = folder.file("run.ulp");
    step written;
    written.tensors.push_back({.tensor = 0, .type = dtype::float32, .table = count_cells(delicate_numbers())});
    tensor_info info;
    info.name = "a";
    info.numel = written.tensors.front().table.numel;
    {
      recording_writer writer(path, recording_writer::mode::create);
      writer.write(written, {info});
      writer.close();
    }
    step read;
    const auto from = open_recording(path);
    if (!from->next(read) || read.tensors.size() != 1 || !(read.tensors.front().table == written.tensors.front().table))
      done.difference = "a recording that was written is not read back as it was";
    done.compared = info.numel;
    done.found += "; a recording written and read";
  } catch (const std::exception& problem) {
    done.difference = problem.what();
  }
  return done;
}

self_test check_zlib() {
  const zlib_facts library = zlib_found();
  self_test done{.name = "zlib", .found = fmt::format("{} (compiled for {})", library.version, library.compiled)};
  std::vector<std::uint8_t> bytes(100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i >> 5);
  if (!library.fits()) done.difference = "the library is of another major version than this program was compiled for";
  if (through_zlib(bytes) != bytes) done.difference = "bytes that were compressed are not inflated to what they were";
  done.compared = bytes.size();
  return done;
}

self_test check_locale() {
  const auto [with_comma, name] = locale_with_comma();
  self_test done{.name = "locale", .found = "decimal comma of " + name};
  const std::locale before = std::locale::global(with_comma);
  const auto expect = [&](const std::string& got, const std::string& expected) {
    ++done.compared;
    if (got != expected && done.passed()) done.difference = fmt::format("'{}' instead of '{}'", got, expected);
  };
  try {
    expect(shortest(1234.5), "1234.5");
    expect(fmt::format("{:.3e}", 0.00125), "1.250e-03");
    expect(shortest(positive_number("0.125", "--x")), "0.125");
    expect(grouped(1234567), "1,234,567");
    expect(to_csv(table_of_one({{"x", 0.5}})), "x\n0.5\n");
  } catch (const std::exception& problem) {
    done.difference = problem.what();
  }
  std::locale::global(before);
  return done;
}

}  // namespace ulp::cli
