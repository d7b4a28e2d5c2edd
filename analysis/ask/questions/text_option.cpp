#include <ulp/ask/questions/text_option.hpp>

#include <cstddef>
#include <type_traits>
#include <ulp/ask/questions/command_text.hpp>

namespace ulp {

std::string arguments_of(const std::vector<text_option>& given, const std::vector<text_option>& usual) {
  std::string text;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const text_option& o = given[i];
    const std::string name = "--" + o.name;
    const auto add = [&](const std::string& value) {
      text += o.is_file ? " " + name + " " + file_argument(value) : option_text(name, value);
    };
    std::visit(
        [&](const auto* value) {
          using type = std::remove_cvref_t<decltype(*value)>;
          if (*value == *std::get<type*>(usual[i].value)) return;
          if constexpr (std::is_same_v<type, bool>)
            text += " " + name;
          else if constexpr (std::is_same_v<type, std::string>)
            add(*value);
          else if constexpr (std::is_same_v<type, std::vector<std::string>>)
            for (const std::string& one : *value) add(one);
          else
            add(std::to_string(*value));
        },
        o.value);
  }
  return text;
}

}  // namespace ulp
