// A table of a run, whoever wrote it: rows with some of its columns, of which those are kept that may tell something.
#ifndef ULP_IO_TABLE_RUN_TABLE_HPP
#define ULP_IO_TABLE_RUN_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "cell_value.hpp"
#include "column_names.hpp"
#include "field_words.hpp"

namespace ulp::io {

// Which columns have which meaning, as a user says: the name of a column, empty for none.
using told_columns = std::vector<std::pair<column_meaning, std::string>>;

// The numbers of a column that are not finite, from the first finite one on.
struct lost_numbers {
  std::uint64_t numbers = 0;
  std::uint64_t lost = 0;
  std::uint64_t places = 0;      // of such numbers in a row
  std::uint64_t first_line = 0;  // 0: none
  bool was_finite = false;
  bool was_lost = false;

  void see(double value, std::uint64_t line);
  lost_numbers& operator+=(const lost_numbers& of_more);
  // NaN again and again stands for fields that are empty.
  [[nodiscard]] bool are_values() const { return lost > 0 && (places <= 3 || lost * 20 <= numbers); }
};

struct run_table {
  struct column {
    std::string name;
    std::optional<column_reading> reading;
    std::uint64_t values = 0;      // fields that are not empty
    std::uint64_t wrong_line = 0;  // of the first that is no number; 0: none
    std::string wrong_text;        // and what it is
    std::string wrong_path;        // of its file, where tables were put together
    bool is_ambiguous = false;     // it is a number, of which a comma leaves open which
    lost_numbers lost{};
    std::vector<bool> filled{};  // rows, from the first on, that have a number there: of a column without a meaning
    field_words words{};         // likewise
  };
  struct cell {
    std::uint32_t column = 0;
    double value = 0;
  };
  struct row {
    std::uint64_t line = 0;
    std::size_t begin = 0;  // of its cells, which end where those of the next begin
  };

  std::string path;
  std::string form;                 // "CSV", "JSON lines"
  std::string framework;            // whose it is, where that is known
  std::string place_word = "line";  // what `line` counts
  std::vector<column> columns;
  std::vector<row> rows;
  std::vector<cell> cells;
  std::vector<std::string> notes;   // of what was left out when it was read
  std::uint64_t lost_of_ranks = 0;  // rows of other ranks, left out, whose loss or norm is not finite
  std::uint64_t of_other_runs = 0;  // rows that were left out, where no column says by its name that they are of others

  std::vector<std::pair<std::size_t, std::string>> more_files;  // where tables were put together: the first row of each

  [[nodiscard]] std::span<const cell> cells_of(std::size_t row_index) const;
  [[nodiscard]] const std::string& path_of(std::size_t row_index) const;
  [[nodiscard]] std::string place(std::uint64_t line) const { return place_word + " " + std::to_string(line); }
};

// Puts the rows of a table of the same run behind those of another, as where each metric has a file of its own.
void append_table(run_table& to, const run_table& more);

// Takes fields as they are read. Of rows of validation, of other ranks and of other runs it keeps nothing but their number.
class table_builder {
 public:
  // Columns are kept that have a meaning, or that `told` names.
  table_builder(std::string path, std::string form, told_columns told, const read_limits& limits);

  [[nodiscard]] std::uint32_t column(std::string_view name);
  void begin(std::uint64_t line);
  void put(std::uint32_t column, std::string_view text, bool decimal_comma = false);
  void put(std::uint32_t column, double value);
  void end();
  void count_from(std::string place_word) { table_.place_word = std::move(place_word); }
  void is_of(std::string framework) { table_.framework = std::move(framework); }
  void add_note(std::string note) { table_.notes.push_back(std::move(note)); }

  [[nodiscard]] run_table take();

 private:
  [[nodiscard]] bool is_of_other(column_meaning means, std::string_view text);
  [[nodiscard]] std::optional<column_meaning> meaning_of(std::uint32_t column) const;
  // Texts of a column that may tell runs apart: few, each in many rows.
  struct row_labels {
    std::map<std::string, std::uint32_t, std::less<>> texts;
    std::vector<std::pair<std::size_t, std::uint32_t>> rows;  // and which of the texts they have
    bool too_many = false;
    bool has_fractions = false;
  };
  void see(std::uint32_t column, double value);
  void label(std::uint32_t column, std::string_view text, bool is_fraction);
  void fill(std::uint32_t column);
  void expect_steps() const;
  [[nodiscard]] std::vector<double> steps() const;
  [[nodiscard]] static bool divides(const row_labels& by, const std::vector<double>& steps);
  void keep_first_run();

  run_table table_;
  told_columns told_;
  read_limits limits_;
  std::map<std::string, std::uint32_t, std::less<>> indices_;
  // Of the row at hand.
  std::uint64_t line_ = 0;
  std::size_t begin_ = 0;
  bool is_left_out_ = false;
  bool is_of_rank_ = false;            // left out as one of another rank
  bool is_lost_ = false;               // its loss or norm is not finite
  std::vector<std::uint32_t> filled_;  // columns without a meaning
  std::vector<std::uint32_t> saying_;  // columns in which words tell of an overflow
  std::size_t fillers_ = 0;            // how many there were, at most a little more than are looked at
  std::string key_;
  std::optional<cell_value> value_;
  std::string value_text_;

  std::map<column_meaning, std::string> first_;  // rank and run that count
  std::map<column_meaning, std::uint64_t> left_out_;
  std::map<std::uint32_t, row_labels> labels_;  // by column
};

}  // namespace ulp::io

#endif
