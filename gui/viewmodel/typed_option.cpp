#include "typed_option.hpp"

#include <QStringList>
#include <stdexcept>
#include <type_traits>

namespace ulp::gui {

QString text_of(const text_option& option) {
  return std::visit(
      [](const auto* value) -> QString {
        using type = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<type, bool>) {
          return *value ? QStringLiteral("yes") : QString();
        } else if constexpr (std::is_same_v<type, std::string>) {
          return QString::fromStdString(*value);
        } else if constexpr (std::is_same_v<type, std::vector<std::string>>) {
          QStringList all;
          for (const std::string& one : *value) all << QString::fromStdString(one);
          return all.join(' ');
        } else {
          return *value == 0 ? QString() : QString::number(*value);
        }
      },
      option.value);
}

void set_text(const text_option& option, const QString& text) {
  std::visit(
      [&](auto* value) {
        using type = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<type, bool>) {
          if (!text.isEmpty() && text != "yes")
            throw std::invalid_argument("--" + option.name + ": '" + text.toStdString() + "' is not yes");
          *value = !text.isEmpty();
        } else if constexpr (std::is_same_v<type, std::string>) {
          *value = text.toStdString();
        } else if constexpr (std::is_same_v<type, std::vector<std::string>>) {
          value->clear();
          for (const QString& one : text.split(' ', Qt::SkipEmptyParts)) value->push_back(one.toStdString());
        } else {
          bool is_number = true;
          const qlonglong number = text.isEmpty() ? 0 : text.toLongLong(&is_number);
          if (!is_number || number < 0)
            throw std::invalid_argument("--" + option.name + ": '" + text.toStdString() +
                                        "' is not an integer from 0 to 9223372036854775807");
          *value = static_cast<type>(number);
        }
      },
      option.value);
}

}  // namespace ulp::gui
