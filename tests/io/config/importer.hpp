// Configurations as one line each.
#ifndef ULP_TESTS_IO_CONFIG_IMPORTER_HPP
#define ULP_TESTS_IO_CONFIG_IMPORTER_HPP

#include <optional>
#include <string>
#include <ulp/io/config/config_import.hpp>

#include "support/files.hpp"

namespace ulp::test {

enum class framework_name : bool { omitted, first };

class importer {
 public:
  explicit importer(framework_name name = framework_name::omitted) : name_(name) {}
  // "DeepSpeed: static loss_scale=128 in float16, norm 1", or the error without its folder.
  std::string operator()(const std::string& text, const std::string& name = "c", std::optional<format> wanted = {},
                         const std::string& framework = "") const {
    write_file(dir_ / name, text);
    try {
      last_ = import_config({(dir_ / name).string(), framework}, wanted);
    } catch (const input_error& problem) {
      const std::string message = problem.what();
      const std::string folder = dir_.path().string() + "/";
      return message.starts_with(folder) ? message.substr(folder.size()) : message;
    }
    std::string result = (name_ == framework_name::first ? last_.framework + ": " : "") + last_.scaler;
    for (const auto& [key, value] : last_.parameters) result += " " + key + "=" + to_string(value);
    result += " in " + last_.format.value_or("?");
    if (last_.clip_norm) result += ", norm " + to_string(parameter_value{*last_.clip_norm});
    if (last_.clip_value) result += ", value " + to_string(parameter_value{*last_.clip_value});
    return result;
  }
  // Beside it.
  void write(const std::string& name, const std::string& text) const { write_file(dir_ / name, text); }
  [[nodiscard]] const imported_config& last() const { return last_; }

 private:
  framework_name name_;
  temporary_dir dir_;
  mutable imported_config last_;
};

}  // namespace ulp::test

#endif
