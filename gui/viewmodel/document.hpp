// The open run and its replays.
#ifndef ULP_GUI_VIEWMODEL_DOCUMENT_HPP
#define ULP_GUI_VIEWMODEL_DOCUMENT_HPP

#include <QObject>
#include <QString>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/source.hpp>
#include <ulp/model/trajectory.hpp>
#include <ulp/report/run_picture.hpp>

#include "background.hpp"
#include "scenario_spec.hpp"

namespace ulp::gui {

// What was read of a run; does not change any more.
struct loaded_run {
  std::vector<std::string> inputs;
  std::string description;
  std::vector<std::string> notes;
  run_header header;
  std::vector<tensor_info> tensors;
  run_picture picture;
};

// What a replay gave; likewise.
struct replayed_run {
  std::vector<replay_step> steps;
  trajectory_summary summary;
  std::vector<std::string> warnings;
  std::string checked;  // whose overflow the scaler sees, in words
};

struct replay_entry {
  scenario_spec spec;
  std::shared_ptr<const replayed_run> result;  // of the spec, or null while it is computed or where it failed
  QString failure;
};

// Read and replay as the document does, in whatever thread calls. Throw input_error, std::invalid_argument.
[[nodiscard]] std::shared_ptr<const loaded_run> load_run(const std::vector<std::string>& inputs,
                                                         const background::report& told);
[[nodiscard]] std::shared_ptr<const replayed_run> replay_run(const loaded_run& run, const scenario_spec& spec,
                                                             const background::report& told);

class document : public QObject {
  Q_OBJECT
 public:
  static constexpr std::size_t most_replays = 6;

  explicit document(QObject* parent = nullptr);

  // In place of what is open, once it is read; then each replay is done again.
  void open(const std::vector<std::string>& inputs);
  void reload();
  void cancel();
  // What was computed elsewhere, for pictures without event loop.
  void set(std::shared_ptr<const loaded_run> run, std::vector<replay_entry> replays);

  [[nodiscard]] const std::shared_ptr<const loaded_run>& run() const noexcept { return run_; }
  [[nodiscard]] const std::vector<replay_entry>& replays() const noexcept { return replays_; }
  [[nodiscard]] bool busy() const noexcept { return loader_.running() || replayer_.running(); }

  // Replays are computed one after the other. The first is the one that others are compared with; there always is one.
  void add_replay(const scenario_spec& spec);
  void change_replay(std::size_t index, const scenario_spec& spec);
  void remove_replay(std::size_t index);
  // In place of all there are; at least one.
  void set_replays(const std::vector<scenario_spec>& specs);

 signals:
  void run_changed();
  void replays_changed();
  void progressed(const QString& what, double share);
  void idle();
  void failed(const QString& reason);

 private:
  void replay_next();

  std::shared_ptr<const loaded_run> run_;
  std::vector<replay_entry> replays_{1};
  background loader_;
  background replayer_;
};

}  // namespace ulp::gui

#endif
