// What the view of layers says of its metrics, kinds and scales.
#ifndef ULP_GUI_VIEWS_LAYER_WORDS_HPP
#define ULP_GUI_VIEWS_LAYER_WORDS_HPP

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/report/pictures/layer_metrics.hpp>

namespace ulp::gui {

[[nodiscard]] std::vector<layer_metric> layer_metrics_in_order();
// As it is called on the command line; nullopt where none is.
[[nodiscard]] QString metric_key(layer_metric m);
[[nodiscard]] std::optional<layer_metric> metric_named(const QString& key);
[[nodiscard]] QStringList metric_keys();
[[nodiscard]] QString choice_text(layer_metric m);
// Over the picture, and over one in which the metric is zero everywhere: empty where it cannot be. %1 is in which format and at
// which scale, as far as these matter.
[[nodiscard]] QString heading_text(layer_metric m);
[[nodiscard]] QString nothing_text(layer_metric m);
// In place of a value where there is none.
[[nodiscard]] QString gap_text(layer_metric m);
[[nodiscard]] QString plural_of(tensor_kind kind);
// "2^16", "2^16 to 2^18", "1000".
[[nodiscard]] QString scales_text(const value_range& scales);

}  // namespace ulp::gui

#endif
