#include "option_fields.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <cstddef>

#include "viewmodel/typed_option.hpp"

namespace ulp::gui {

option_fields::option_fields(const std::vector<text_option>& options, QWidget* parent) : QWidget(parent) {
  auto* const form = new QFormLayout(this);
  form->setContentsMargins(0, 0, 0, 0);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  for (const text_option& o : options) {
    QWidget* field = nullptr;
    if (std::holds_alternative<bool*>(o.value)) {
      auto* const box = new QCheckBox(this);
      connect(box, &QCheckBox::toggled, this, &option_fields::changed);
      field = box;
    } else if (!o.one_of.empty()) {
      auto* const list = new QComboBox(this);
      list->addItem("");
      for (const std::string& value : o.one_of) list->addItem(QString::fromStdString(value));
      connect(list, &QComboBox::currentTextChanged, this, &option_fields::changed);
      field = list;
    } else {
      auto* const line = new QLineEdit(this);
      line->setPlaceholderText(QString::fromStdString(o.type));
      connect(line, &QLineEdit::textChanged, this, &option_fields::changed);
      field = line;
    }
    field->setObjectName(QString::fromStdString(o.name));
    field->setToolTip(QString::fromStdString(o.help));
    field->setAccessibleName(QString::fromStdString(o.name));
    form->addRow(QString::fromStdString(o.name), field);
    fields_.push_back(field);
  }
}

void option_fields::show_values(const std::vector<text_option>& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const QString text = text_of(options[i]);
    if (auto* const box = qobject_cast<QCheckBox*>(fields_[i]))
      box->setChecked(!text.isEmpty());
    else if (auto* const list = qobject_cast<QComboBox*>(fields_[i]))
      list->setCurrentText(text);
    else if (auto* const line = qobject_cast<QLineEdit*>(fields_[i]))
      line->setText(text);
  }
}

void option_fields::take_values(const std::vector<text_option>& options) const {
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (const auto* const box = qobject_cast<QCheckBox*>(fields_[i]))
      set_text(options[i], box->isChecked() ? "yes" : "");
    else if (const auto* const list = qobject_cast<QComboBox*>(fields_[i]))
      set_text(options[i], list->currentText());
    else if (const auto* const line = qobject_cast<QLineEdit*>(fields_[i]))
      set_text(options[i], line->text().trimmed());
  }
}

}  // namespace ulp::gui
