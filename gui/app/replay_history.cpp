#include "replay_history.hpp"

#include <QElapsedTimer>
#include <QStringList>
#include <algorithm>
#include <utility>

#include "viewmodel/typed_option.hpp"

namespace ulp::gui {
namespace {

using replay_list = replay_history::replay_list;

// The options in which two scenarios differ; of parameters each for itself.
QStringList differences(scenario_text a, scenario_text b) {
  QStringList all;
  const auto of_a = options_of(a);
  const auto of_b = options_of(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (text_of(of_a[i]) == text_of(of_b[i])) continue;
    if (of_a[i].name != "set") {
      all << QString::fromStdString(of_a[i].name);
      continue;
    }
    for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}})
      for (const std::string& p : one->parameters)
        if (const std::string key = p.substr(0, p.find('=')); parameter_of(*other, key) != parameter_of(*one, key))
          all << QString::fromStdString(key);
  }
  all.removeDuplicates();
  return all;
}

// The first replay that differs; the last where one was removed from the end.
std::size_t place_of_change(const replay_list& a, const replay_list& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  return std::min(static_cast<std::size_t>(in_b - b.begin()), b.size() - 1);
}

class step final : public QUndoCommand {
 public:
  step(replay_history& history, replay_list before, replay_list after)
      : history_(history), before_(std::move(before)), after_(std::move(after)) {
    describe();
    typed_.start();
  }
  // What it does is done when it is pushed.
  void redo() override {
    if (std::exchange(is_done_, true)) history_.restore(after_);
  }
  void undo() override { history_.restore(before_); }
  [[nodiscard]] int id() const override { return 1; }
  bool mergeWith(const QUndoCommand* next) override {
    constexpr qint64 pause = 2000;
    const auto& later = static_cast<const step&>(*next);
    if (field_.isEmpty() || later.field_ != field_ || later.place_ != place_ || typed_.elapsed() > pause) return false;
    after_ = later.after_;
    typed_.restart();
    setObsolete(after_ == before_);
    return true;
  }

 private:
  void describe() {
    place_ = place_of_change(before_, after_);
    if (before_.size() < after_.size()) return setText(QObject::tr("adding a replay"));
    if (before_.size() > after_.size()) return setText(QObject::tr("removing a replay"));
    const QStringList changed = differences(before_[place_].spec, after_[place_].spec);
    if (std::ranges::is_permutation(before_, after_)) return setText(QObject::tr("the choice of what to compare with"));
    setText(QObject::tr("change of %1").arg(changed.join(", ")));
    if (changed.size() == 1) field_ = changed.front();
  }

  replay_history& history_;
  replay_list before_;
  replay_list after_;
  std::size_t place_ = 0;
  QString field_;  // the only one that changed
  QElapsedTimer typed_;
  bool is_done_ = false;
};

replay_list list_of(const document& doc) {
  replay_list all;
  for (const replay_entry& r : doc.replays()) all.push_back({.spec = r.spec, .run = r.run});
  return all;
}

}  // namespace

replay_history::replay_history(view_state& state, QObject* parent)
    : QObject(parent), state_(state), known_(list_of(state.doc())) {
  connect(&state_.doc(), &document::replays_changed, this, &replay_history::see);
}

void replay_history::see() {
  std::vector<document::inputs_of_run> runs;
  for (const auto& run : state_.doc().runs()) runs.push_back(run->text.inputs);
  const replay_list before = std::exchange(known_, list_of(state_.doc()));
  if (std::exchange(runs_, runs) != runs) return steps_.clear();
  if (before != known_) steps_.push(new step(*this, before, known_));
}

void replay_history::restore(const replay_list& replays) {
  const std::size_t place = place_of_change(std::exchange(known_, replays), replays);
  std::vector<replay_entry> entries;
  for (const session::replay& r : replays) entries.push_back({.spec = r.spec, .run = r.run});
  state_.doc().restore_replays(std::move(entries));
  state_.set_front(place);
}

}  // namespace ulp::gui
