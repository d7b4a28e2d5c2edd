// "1 step", "2,000 tensors" in the language of the window.
#ifndef ULP_GUI_VIEWMODEL_COUNTED_WORDS_HPP
#define ULP_GUI_VIEWMODEL_COUNTED_WORDS_HPP

#include <QObject>
#include <QString>
#include <cstdint>

#include <ulp/ask/questions/number_text.hpp>

namespace ulp::gui {

[[nodiscard]] inline QString count_of_steps(std::uint64_t n) {
  return n == 1 ? QObject::tr("1 step") : QObject::tr("%1 steps").arg(QString::fromStdString(grouped(n)));
}

[[nodiscard]] inline QString count_of_tensors(std::uint64_t n) {
  return n == 1 ? QObject::tr("1 tensor") : QObject::tr("%1 tensors").arg(QString::fromStdString(grouped(n)));
}

}  // namespace ulp::gui

#endif
