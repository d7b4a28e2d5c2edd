// Of whom a configuration is, and how one is read by the row of its program.
#ifndef ULP_IO_CONFIG_PROGRAM_HPP
#define ULP_IO_CONFIG_PROGRAM_HPP

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conditions.hpp"
#include "config/programs/row.hpp"
#include "section.hpp"

namespace ulp::io {

[[nodiscard]] std::span<const program_row> program_rows();
// In any case, '-' and '_' like blanks; nullptr where there is none.
[[nodiscard]] const program_row* program_named(std::string_view name);
[[nodiscard]] std::string names_of_programs();

// Reads a configuration by the tables of its row.
void import_by_row(import_run& run, const config_entry& root, const program_row& row);

// The keys of the row's conditions and tables.
[[nodiscard]] std::vector<std::string> keys_of(const program_row& row);

// Whether what starts a program ends as one of the words; '*' in a word is any text.
[[nodiscard]] bool is_one_of_programs(std::string_view program, std::string_view words);

// Of whom a configuration is, and where in the file it begins: the file itself, or the arguments of a call in it.
struct named_program {
  const program_row* row = nullptr;
  config_entry root;
};
// By the name that is asked for, else by what starts it, else by its markers; a row of nullptr where nothing names one. Throws
// input_error where several may be meant.
[[nodiscard]] named_program found_program(const import_run& run, const config_entry& root);
// Throws input_error, which names the keys that several programs have, where nothing names one.
[[nodiscard]] named_program program_of(const import_run& run, const config_entry& root);

}  // namespace ulp::io

#endif
