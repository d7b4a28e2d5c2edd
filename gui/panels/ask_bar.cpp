#include "ask_bar.hpp"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include <ulp/ask/questions/typed_values.hpp>

#include "plot/theme.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr std::string_view inferred = "roles are inferred from the values: ";

// What a note of the run says of inferred roles, from there on; empty where none does.
std::string_view told_of_roles(const loaded_run& run) {
  for (const std::string& note : run.notes)
    if (const auto at = note.find(inferred); at != std::string::npos) return std::string_view(note).substr(at);
  return {};
}

bool logs_scales(const loaded_run& run) {
  const auto& steps = run.picture.steps();
  return !steps.empty() &&
         std::ranges::none_of(steps, [](const pictured_step& s) { return std::isnan(s.scalars.loss_scale); });
}

}  // namespace

ask_bar::ask_bar(view_state& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      factor_text_(new QLabel(this)),
      roles_text_(new QLabel(this)),
      by_scale_(new QPushButton(tr("By the logged scale"), this)),
      typed_(new QLineEdit(this)),
      scalars_(new QPushButton(tr("By a scale in a CSV..."), this)) {
  auto* const no = new QPushButton(tr("No"), this);
  auto* const keep = new QPushButton(tr("Keep"), this);
  auto* const change = new QPushButton(tr("Change..."), this);
  no->setAccessibleName(tr("No, the values are true gradients"));
  by_scale_->setToolTip(tr("Each step's values were multiplied by the loss scale that is logged for it"));
  scalars_->setToolTip(tr("A CSV file with the columns step and scale"));
  typed_->setPlaceholderText(tr("by factor 2^16"));
  typed_->setAccessibleName(tr("Factor by which all values were multiplied"));
  typed_->setFixedWidth(130);
  factor_text_->setObjectName("factor-question");
  roles_text_->setObjectName("roles-question");
  keep->setAccessibleName(tr("Keep the inferred roles"));
  change->setAccessibleName(tr("Change the inferred roles"));

  auto* const box = new QVBoxLayout(this);
  box->setContentsMargins(0, 0, 0, 0);
  box->setSpacing(0);
  box->addWidget(factor_ = make_question(factor_text_, {no, by_scale_, typed_, scalars_}));
  box->addWidget(roles_ = make_question(roles_text_, {keep, change}));

  connect(no, &QPushButton::clicked, this, [this] { answer("1"); });
  connect(by_scale_, &QPushButton::clicked, this, [this] { answer("scale"); });
  connect(scalars_, &QPushButton::clicked, this, &ask_bar::choose_scalars);
  connect(typed_, &QLineEdit::returnPressed, this, &ask_bar::answer_typed);
  connect(keep, &QPushButton::clicked, this, [this] {
    settled_ = state_.current_run()->id;
    refresh();
  });
  connect(change, &QPushButton::clicked, this, [this] { emit wanted("role"); });
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testFlag(view_state::run)) refresh();
  });
  refresh();
}

QWidget* ask_bar::make_question(QLabel* text, const std::vector<QWidget*>& answers) {
  auto* const bar = new QWidget(this);
  bar->setBackgroundRole(QPalette::ToolTipBase);
  bar->setAutoFillBackground(true);
  auto* const row = new QHBoxLayout(bar);
  row->setContentsMargins(8, 4, 8, 4);
  row->addWidget(text, 1);
  text->setWordWrap(true);
  text->setTextFormat(Qt::PlainText);
  for (QWidget* const one : answers) row->addWidget(one);
  return bar;
}

void ask_bar::doubt(std::uint64_t run, const QString& why) {
  if (doubted_ == run) return;
  doubted_ = run;
  why_doubted_ = why;
  refresh();
}

void ask_bar::refresh() {
  const loaded_run* const run = state_.current_run();
  const bool is_doubted = run != nullptr && run->id == doubted_;
  factor_->setVisible(run != nullptr && (run->as_recorded || is_doubted));
  factor_text_->setText(is_doubted
                            ? tr("The factor in the file cannot be right: were the values multiplied by a loss scale?")
                            : tr("Values as recorded: were they multiplied by a loss scale?"));
  // Of a recording either side of unscaling is all that can be wrong.
  typed_->setVisible(!is_doubted);
  scalars_->setVisible(!is_doubted);
  factor_text_->setToolTip(is_doubted ? tip_of(why_doubted_) : QString());
  by_scale_->setEnabled(run != nullptr && logs_scales(*run));
  const std::string_view told = run == nullptr || run->id == settled_ ? std::string_view{} : told_of_roles(*run);
  roles_->setVisible(!told.empty());
  QString text = shown_text(told.substr(0, told.find(';')));
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  roles_text_->setText(text);
  roles_text_->setToolTip(tip_of(shown_text(told)));
}

void ask_bar::answer(const std::string& factor, const std::string& scalars) {
  run_text how = state_.doc().how();
  how.factor = factor;
  if (!scalars.empty()) how.scalars = scalars;
  state_.doc().read_again(std::move(how));
}

void ask_bar::answer_typed() {
  const std::string text = typed_->text().trimmed().toStdString();
  QPalette colours = palette();
  QString problem;
  try {
    static_cast<void>(positive_number(text, "--factor"));
    answer(text);
  } catch (const std::invalid_argument& mistake) {
    problem = shown_text(mistake.what());
    colours.setColor(QPalette::Text, theme::of(colours).overflow);
  }
  typed_->setPalette(colours);
  typed_->setToolTip(tip_of(problem));
}

void ask_bar::choose_scalars() {
  const QString file = QFileDialog::getOpenFileName(this, tr("A CSV file with the loss scale of each step"), {},
                                                    tr("CSV (*.csv *.csv.gz);;All files (*)"));
  if (!file.isEmpty()) answer("scale", file.toStdString());
}

}  // namespace ulp::gui
