#include "scenario_editor.hpp"

#include <QCheckBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <algorithm>
#include <array>
#include <stdexcept>

#include <ulp/report/tables/usual_formats.hpp>

#include "configuration.hpp"
#include "heading.hpp"
#include "plot/theme.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

QIcon line_icon(const theme& colours, std::size_t index) {
  QPixmap picture(28, 12);
  picture.fill(Qt::transparent);
  QPainter to(&picture);
  to.setPen(colours.line(index, 3));
  to.drawLine(0, 6, 28, 6);
  // In its colour where it is selected, too, on a ground that shows it.
  QPixmap selected(picture.size());
  selected.fill(colours.background);
  QPainter(&selected).drawPixmap(0, 0, picture);
  QIcon icon(picture);
  icon.addPixmap(selected, QIcon::Selected);
  return icon;
}

// What has no widget of its own.
std::vector<text_option> further_options(scenario_text& of) {
  std::vector<text_option> all = options_of(of);
  std::erase_if(all, [](const text_option& o) {
    static constexpr std::array shown{"scaler", "set",       "format",     "rounding",
                                      "check",  "clip-norm", "clip-value", "order"};
    return std::ranges::find(shown, o.name) != shown.end();
  });
  return all;
}

option_fields* make_further_fields(QWidget* parent) {
  scenario_text none;
  return new option_fields(further_options(none), parent);
}

std::vector<std::pair<std::string, std::string>> defaults_of(const std::string& scaler) {
  std::vector<std::pair<std::string, std::string>> all;
  if (const scaler_entry* const entry = find_scaler(scaler))
    for (const scaler_parameter& p : make_scaler(*entry).parameters()) all.emplace_back(p.name, to_string(p.value));
  return all;
}

}  // namespace

scenario_editor::scenario_editor(view_state& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      replays_(new QListWidget(this)),
      scaler_(new scaler_choice(this)),
      parameters_(new QTableWidget(0, 2, this)),
      format_(new QComboBox(this)),
      rounding_(new QComboBox(this)),
      clip_how_(new QComboBox(this)),
      clip_at_(new QLineEdit(this)),
      order_(new QComboBox(this)),
      check_(new QLineEdit(this)),
      further_(make_further_fields(this)),
      problem_(new QLabel(this)) {
  auto* const box = new QVBoxLayout(this);
  box->setContentsMargins(0, 0, 0, 0);
  const buttons_of_replays buttons = add_replays(*box);
  add_fields(*box);
  const last_widgets last = add_rest(*box);
  name_fields();
  offer_values();
  set_up_parameters();
  follow_edits();
  follow_state();
  std::vector<QWidget*> in_order{replays_,  buttons[0], buttons[1], buttons[2], scaler_, parameters_, format_,
                                 rounding_, clip_how_,  clip_at_,   order_,     check_,  last[0],     last[1]};
  for (QWidget* const field : further_->findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
    if (field->focusPolicy() != Qt::NoFocus) in_order.push_back(field);
  for (std::size_t i = 1; i < in_order.size(); ++i) setTabOrder(in_order[i - 1], in_order[i]);
  show_replays();
}

scenario_editor::buttons_of_replays scenario_editor::add_replays(QVBoxLayout& box) {
  auto* const buttons = new QHBoxLayout;
  auto* const add = new QPushButton(tr("Add"), this);
  auto* const remove = new QPushButton(tr("Remove"), this);
  auto* const compare = new QPushButton(tr("Compare..."), this);
  add->setObjectName("add");
  add->setToolTip(tr("Another replay of the same run"));
  compare->setToolTip(tr("Another run, replayed like the first"));
  for (QPushButton* const button : {add, remove, compare}) buttons->addWidget(button);
  connect(compare, &QPushButton::clicked, this, &scenario_editor::comparison_wanted);
  connect(add, &QPushButton::clicked, this, [this] {
    const std::size_t n = state_.doc().replays().size();
    state_.doc().add_replay(state_.front().spec, state_.front().run);
    state_.set_front(n);
  });
  connect(remove, &QPushButton::clicked, this, [this] { state_.doc().remove_replay(state_.front_index()); });
  box.addWidget(make_heading(tr("Replays"), this));
  box.addWidget(replays_);
  box.addLayout(buttons);
  box.addWidget(make_heading(tr("Scenario"), this));
  replays_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  replays_->setAccessibleName(tr("Replays; the others are compared with the first"));
  return {add, remove, compare};
}

void scenario_editor::add_fields(QVBoxLayout& box) {
  auto* const form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("Scaler"), scaler_);
  box.addLayout(form);
  box.addWidget(parameters_);
  auto* const rest = new QFormLayout;
  rest->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  rest->addRow(tr("Format"), format_);
  rest->addRow(tr("Rounding"), rounding_);
  auto* const clipping = new QHBoxLayout;
  clipping->addWidget(clip_how_);
  clipping->addWidget(clip_at_);
  rest->addRow(tr("Clip"), clipping);
  rest->addRow(tr("Order"), order_);
  rest->addRow(tr("Checked"), check_);
  box.addLayout(rest);
}

scenario_editor::last_widgets scenario_editor::add_rest(QVBoxLayout& box) {
  auto* const load = new QPushButton(tr("Load configuration..."), this);
  load->setToolTip(
      tr("Scaler, parameters, format and clipping from a file of DeepSpeed, NeMo, Accelerate or another framework"));
  box.addWidget(load);
  connect(load, &QPushButton::clicked, this, [this] { choose_configuration(state_, this); });
  auto* const more = new QCheckBox(tr("More"), this);
  more->setToolTip(tr("The other options of ulp replay"));
  box.addWidget(more);
  box.addWidget(further_);
  further_->hide();
  connect(more, &QCheckBox::toggled, further_, &QWidget::setVisible);
  problem_->setWordWrap(true);
  problem_->setTextFormat(Qt::PlainText);  // it quotes what was typed
  problem_->hide();
  box.addWidget(problem_);
  return {load, more};
}

void scenario_editor::name_fields() {
  scaler_->setObjectName("scaler");
  format_->setObjectName("format");
  clip_at_->setPlaceholderText(tr("bound"));
  clip_at_->setAccessibleName(tr("Bound of clipping"));
  clip_how_->setAccessibleName(tr("Clip"));
  format_->setAccessibleName(tr("Format"));
  rounding_->setAccessibleName(tr("Rounding"));
  order_->setAccessibleName(tr("Order"));
  check_->setAccessibleName(tr("Checked"));
  check_->setPlaceholderText(tr("expression; default: by rule"));
}

void scenario_editor::offer_values() {
  format_->setEditable(true);
  for (const char* const name : usual_formats(format_room::all)) format_->addItem(name);
  format_->setToolTip(tr("Any format listed by ulp formats, or eXmY"));
  rounding_->setEditable(true);
  for (const char* const name : {"", "nearest-even", "nearest-away", "toward-zero", "toward-positive",
                                 "toward-negative", "to-odd", "stochastic", "nvidia"})
    rounding_->addItem(name);
  rounding_->lineEdit()->setPlaceholderText(tr("the format's own"));
  clip_how_->addItems({tr("never"), tr("norm"), tr("value")});
  for (QComboBox* const combo : {format_, rounding_, order_}) {
    combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    combo->setMinimumContentsLength(10);
  }
  for (const char* const order : {"unscale,check,clip", "unscale,clip,check", "check,unscale,clip",
                                  "check,clip,unscale", "clip,unscale,check", "clip,check,unscale"})
    order_->addItem(order);
  order_->setToolTip(tr(
      "The order of unscaling, checking for overflow and clipping. Clipping before unscaling clips to the bound "
      "divided by the loss scale; clamping before the check hides infinities. Both mistakes occur in training loops"));
}

void scenario_editor::set_up_parameters() {
  parameters_->setHorizontalHeaderLabels({tr("parameter"), tr("value")});
  parameters_->horizontalHeader()->setStretchLastSection(true);
  parameters_->verticalHeader()->hide();
  parameters_->setTabKeyNavigation(false);
  parameters_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  parameters_->setSizeAdjustPolicy(QAbstractScrollArea::AdjustIgnored);
  parameters_->verticalHeader()->setDefaultSectionSize(24);
  parameters_->setAccessibleName(tr("Parameters of the scaler; those that differ from its defaults are bold"));
}

void scenario_editor::follow_edits() {
  pause_.setSingleShot(true);
  pause_.setInterval(250);
  connect(&pause_, &QTimer::timeout, this, &scenario_editor::apply);
  const auto changed = [this] {
    if (showing_) return;
    edited_ = state_.front_index();
    pause_.start();
  };
  connect(clip_how_, &QComboBox::currentIndexChanged, this, [this](int how) { order_->setEnabled(how != 0); });
  connect(scaler_, &scaler_choice::changed, this, changed);
  for (QComboBox* const combo : {format_, rounding_, clip_how_, order_})
    connect(combo, &QComboBox::currentTextChanged, this, changed);
  for (QLineEdit* const line : {clip_at_, check_}) connect(line, &QLineEdit::textChanged, this, changed);
  connect(parameters_, &QTableWidget::cellChanged, this, changed);
  connect(further_, &option_fields::changed, this, changed);
}

void scenario_editor::follow_state() {
  connect(replays_, &QListWidget::currentRowChanged, this, [this](int row) {
    if (!showing_ && row >= 0) state_.set_front(static_cast<std::size_t>(row));
  });
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (!what.testAnyFlags(view_state::parts{view_state::replays} | view_state::run)) return;
    // What was typed is of the replay that was in front then.
    if (pause_.isActive() && edited_ != state_.front_index()) {
      pause_.stop();
      apply();
    }
    show_replays();
  });
}

void scenario_editor::show_replays() {
  showing_ = true;
  const theme colours = theme::of(palette());
  replays_->clear();
  std::size_t i = 0;
  for (const replay_entry& r : state_.doc().replays()) {
    auto* const item = new QListWidgetItem(line_icon(colours, i++), state_.doc().title_of(r), replays_);
    item->setToolTip(tip_of(r.failure.isEmpty() ? item->text() : r.failure));
  }
  replays_->setFixedHeight(std::max(2, replays_->count()) * replays_->sizeHintForRow(0) + 2 * replays_->frameWidth());
  replays_->setCurrentRow(static_cast<int>(state_.front_index()));
  showing_ = false;
  const replay_entry& front = state_.front();
  problem_->setVisible(!front.failure.isEmpty());
  problem_->setText(front.failure);
  if (!pause_.isActive() && (shown_scaler_.empty() || !is_typed(front.spec))) show_front();
}

void scenario_editor::show_front() {
  showing_ = true;
  scenario_text spec = state_.front().spec;
  scaler_->set_scaler(QString::fromStdString(spec.scaler));
  format_->setCurrentText(QString::fromStdString(spec.format));
  rounding_->setCurrentText(QString::fromStdString(spec.rounding.direction));
  clip_how_->setCurrentIndex(!spec.clip_norm.empty() ? 1 : !spec.clip_value.empty() ? 2 : 0);
  clip_at_->setText(QString::fromStdString(spec.clip_norm + spec.clip_value));
  order_->setCurrentText(spec.order.empty() ? order_->itemText(0) : QString::fromStdString(spec.order));
  order_->setEnabled(clip_how_->currentIndex() != 0);
  check_->setText(QString::fromStdString(spec.check));
  further_->show_values(further_options(spec));
  show_parameters(spec);
  showing_ = false;
}

void scenario_editor::show_parameters(const scenario_text& spec) {
  const auto defaults = defaults_of(spec.scaler);
  parameters_->setRowCount(static_cast<int>(defaults.size()));
  int row = 0;
  for (const auto& [name, value] : defaults) {
    const auto set = parameter_of(spec, name);
    auto* const label = new QTableWidgetItem(QString::fromStdString(name));
    label->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    label->setToolTip(tr("%1; default %2").arg(QString::fromStdString(name), QString::fromStdString(value)));
    auto* const field = new QTableWidgetItem(QString::fromStdString(set.value_or(value)));
    field->setToolTip(label->toolTip());
    if (set) {
      QFont font = field->font();
      font.setBold(true);
      field->setFont(font);
    }
    parameters_->setItem(row, 0, label);
    parameters_->setItem(row++, 1, field);
  }
  parameters_->resizeColumnToContents(0);
  // As high as its rows: what is around it scrolls.
  parameters_->setFixedHeight(parameters_->horizontalHeader()->sizeHint().height() +
                              parameters_->verticalHeader()->length() + 2 * parameters_->frameWidth());
  shown_scaler_ = spec.scaler;
}

scenario_text scenario_editor::typed() const {
  scenario_text spec;
  spec.scaler = scaler_->scaler().toStdString();
  spec.format = format_->currentText().trimmed().toStdString();
  spec.rounding.direction = rounding_->currentText().trimmed().toStdString();
  const std::string bound = clip_at_->text().trimmed().toStdString();
  if (clip_how_->currentIndex() == 1) spec.clip_norm = bound;
  if (clip_how_->currentIndex() == 2) spec.clip_value = bound;
  if (order_->isEnabled() && order_->currentIndex() > 0) spec.order = order_->currentText().toStdString();
  spec.check = check_->text().toStdString();
  further_->take_values(further_options(spec));
  if (spec.rounding.tininess.empty()) spec.rounding.tininess = rounding_text{}.tininess;
  if (spec.scaler != shown_scaler_) {
    spec.start.clear();  // this and the parameters are those of another
    return spec;
  }
  const auto defaults = defaults_of(spec.scaler);
  for (int row = 0; row < parameters_->rowCount() && row < static_cast<int>(defaults.size()); ++row) {
    const std::string value = parameters_->item(row, 1)->text().trimmed().toStdString();
    const auto& [name, usual] = defaults[static_cast<std::size_t>(row)];
    if (value != usual) set_parameter(spec, name, value);
  }
  return spec;
}

bool scenario_editor::is_typed(const scenario_text& spec) const {
  try {
    return typed() == spec;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void scenario_editor::apply() {
  scenario_text spec;
  try {
    spec = typed();
    static_cast<void>(scenario_of(spec));
  } catch (const std::invalid_argument& mistake) {
    problem_->setText(shown_text(mistake.what()));
    problem_->show();
    return;
  }
  problem_->hide();
  if (edited_ >= state_.doc().replays().size()) return;
  state_.doc().change_replay(edited_, spec);
  showing_ = true;
  if (spec.scaler != shown_scaler_) further_->show_values(further_options(spec));
  show_parameters(spec);
  showing_ = false;
}

}  // namespace ulp::gui
