#include "reading_editor.hpp"

#include <QLineEdit>
#include <QVBoxLayout>
#include <algorithm>
#include <stdexcept>

#include "viewmodel/shown_text.hpp"
#include "viewmodel/typed_option.hpp"

namespace ulp::gui {
namespace {

// Tensors and steps are chosen in the views, and without reading again.
std::vector<text_option> reading_options(run_text& of) {
  std::vector<text_option> all = options_of(of);
  std::erase_if(all, [](const text_option& o) { return o.name == "tensor" || o.name == "steps"; });
  const auto is_first = [](const text_option& o) { return o.name == "factor" || o.name == "scalars"; };
  std::stable_partition(all.begin(), all.end(), is_first);
  return all;
}

option_fields* make_fields(QWidget* parent) {
  run_text none;
  return new option_fields(reading_options(none), parent);
}

}  // namespace

reading_editor::reading_editor(view_state& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      fields_(make_fields(this)),
      again_(new QPushButton(tr("Read again"), this)),
      problem_(new QLabel(this)) {
  auto* const box = new QVBoxLayout(this);
  box->setContentsMargins(0, 0, 0, 0);
  box->addWidget(fields_);
  box->addWidget(problem_);
  box->addWidget(again_);
  again_->setObjectName("read-again");
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);
  problem_->hide();
  connect(fields_, &option_fields::changed, this, &reading_editor::look_at_typed);
  connect(again_, &QPushButton::clicked, this, &reading_editor::apply);
  for (const QLineEdit* const line : fields_->findChildren<QLineEdit*>())
    connect(line, &QLineEdit::returnPressed, this, &reading_editor::apply);
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testFlag(view_state::run) && known_ != state_.doc().how()) show_known();
  });
  show_known();
}

void reading_editor::ask_for(const QString& option) {
  auto* const field = fields_->findChild<QWidget*>(option);
  if (field != nullptr) field->setFocus(Qt::OtherFocusReason);
}

void reading_editor::show_known() {
  known_ = state_.doc().how();
  run_text how = known_;
  fields_->show_values(reading_options(how));
  look_at_typed();
}

run_text reading_editor::typed() const {
  // Only what was changed: expressions with blanks would not come back from one line of text as they were.
  run_text taken = known_;
  fields_->take_values(reading_options(taken));
  run_text how = known_;
  const std::vector<text_option> from = reading_options(taken);
  const std::vector<text_option> to = reading_options(how);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (text_of(from[i]) != text_of(to[i])) set_text(to[i], text_of(from[i]));
  if (how.attempts.empty()) how.attempts = run_text{}.attempts;
  if (how.every == 0) how.every = 1;
  static_cast<void>(how.selected());
  static_cast<void>(how.how_to_read());
  return how;
}

void reading_editor::look_at_typed() {
  QString problem;
  try {
    again_->setEnabled(typed() != known_);
  } catch (const std::invalid_argument& mistake) {
    problem = shown_text(mistake.what());
    again_->setEnabled(false);
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
}

void reading_editor::apply() {
  if (!again_->isEnabled()) return;
  state_.doc().read_again(typed());
  if (state_.doc().runs().empty()) show_known();
}

}  // namespace ulp::gui
