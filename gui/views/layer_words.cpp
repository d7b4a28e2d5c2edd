#include "layer_words.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>

#include <ulp/report/tables/table.hpp>

namespace ulp::gui {
namespace {

struct metric_text {
  layer_metric metric;
  const char* key;
  const char* choice;
  const char* heading;  // %1: in which format, at which scale; or the format alone
  const char* nothing;  // where it is zero everywhere; likewise
};
constexpr std::array metrics{
    metric_text{layer_metric::underflow, "underflow", QT_TRANSLATE_NOOP("layers", "underflow, share of nonzero"),
                QT_TRANSLATE_NOOP("layers", "Underflow %1, share of the nonzero values"),
                QT_TRANSLATE_NOOP("layers", "Nothing underflows %1")},
    metric_text{layer_metric::subnormal, "subnormal", QT_TRANSLATE_NOOP("layers", "subnormal, share of nonzero"),
                QT_TRANSLATE_NOOP("layers", "Subnormal results %1, share of the nonzero values"),
                QT_TRANSLATE_NOOP("layers", "No result is subnormal %1")},
    metric_text{layer_metric::overflow, "overflow", QT_TRANSLATE_NOOP("layers", "overflow, share of nonzero"),
                QT_TRANSLATE_NOOP("layers", "Overflow %1, share of the nonzero values"),
                QT_TRANSLATE_NOOP("layers", "Nothing overflows %1")},
    metric_text{layer_metric::lost_l1, "lost_l1", QT_TRANSLATE_NOOP("layers", "lost magnitude, L1"),
                QT_TRANSLATE_NOOP("layers", "Magnitude lost to underflow %1, share of the L1 norm"),
                QT_TRANSLATE_NOOP("layers", "Underflow takes no magnitude %1")},
    metric_text{layer_metric::lost_l2, "lost_l2", QT_TRANSLATE_NOOP("layers", "lost magnitude, L2"),
                QT_TRANSLATE_NOOP("layers", "Magnitude lost to underflow %1, share of the L2 norm"),
                QT_TRANSLATE_NOOP("layers", "Underflow takes no magnitude %1")},
    metric_text{layer_metric::sqnr, "sqnr", QT_TRANSLATE_NOOP("layers", "SQNR, dB"),
                QT_TRANSLATE_NOOP("layers", "Signal to rounding noise %1, in dB"), nullptr},
    metric_text{layer_metric::zeros, "zeros", QT_TRANSLATE_NOOP("layers", "zeros before rounding, share of all"),
                QT_TRANSLATE_NOOP("layers", "Zeros before rounding, share of all values"),
                QT_TRANSLATE_NOOP("layers", "No value is zero before rounding")},
    metric_text{layer_metric::largest, "largest", QT_TRANSLATE_NOOP("layers", "largest gradient, log2"),
                QT_TRANSLATE_NOOP("layers", "Largest magnitude before scaling, log2"), nullptr},
    metric_text{layer_metric::headroom, "headroom", QT_TRANSLATE_NOOP("layers", "headroom, binades"),
                QT_TRANSLATE_NOOP("layers", "Binades from the largest value to overflow %1"), nullptr},
    metric_text{layer_metric::saturated, "saturated", QT_TRANSLATE_NOOP("layers", "saturated in FP8, share of nonzero"),
                QT_TRANSLATE_NOOP("layers", "Saturated under %1, share of the nonzero values"),
                QT_TRANSLATE_NOOP("layers", "Nothing saturates under %1")},
    metric_text{layer_metric::stale, "stale", QT_TRANSLATE_NOOP("layers", "stale FP8 scale, share of steps"),
                QT_TRANSLATE_NOOP("layers", "Scale off by more than a binade under %1, share of steps"),
                QT_TRANSLATE_NOOP("layers", "No scale is off by more than a binade under %1")},
    metric_text{
        layer_metric::lost_updates, "lost_updates", QT_TRANSLATE_NOOP("layers", "updates lost, share of updates"),
        QT_TRANSLATE_NOOP("layers", "Share of updates lost by weights kept in %1 without a master copy (nearest even)"),
        QT_TRANSLATE_NOOP("layers", "No update is lost by weights kept in %1 without a master copy (nearest even)")}};

const metric_text& text_of(layer_metric m) { return *std::ranges::find(metrics, m, &metric_text::metric); }

QString tr_layers(const char* text) {
  return text == nullptr ? QString() : QCoreApplication::translate("layers", text);
}

}  // namespace

std::vector<layer_metric> layer_metrics_in_order() {
  std::vector<layer_metric> all;
  for (const metric_text& m : metrics) all.push_back(m.metric);
  return all;
}

QString metric_key(layer_metric m) { return QString::fromLatin1(text_of(m).key); }

QStringList metric_keys() {
  QStringList all;
  for (const metric_text& m : metrics) all << m.key;
  return all;
}

std::optional<layer_metric> metric_named(const QString& key) {
  const auto* const found = std::ranges::find_if(metrics, [&](const metric_text& m) { return key == m.key; });
  return found == metrics.end() ? std::nullopt : std::optional{found->metric};
}

QString choice_text(layer_metric m) { return tr_layers(text_of(m).choice); }
QString heading_text(layer_metric m) { return tr_layers(text_of(m).heading); }
QString nothing_text(layer_metric m) { return tr_layers(text_of(m).nothing); }

QString gap_text(layer_metric m) {
  switch (m) {
    case layer_metric::zeros: return tr_layers(QT_TRANSLATE_NOOP("layers", "no values"));
    case layer_metric::lost_updates: return tr_layers(QT_TRANSLATE_NOOP("layers", "no nonzero update recorded"));
    case layer_metric::stale: return tr_layers(QT_TRANSLATE_NOOP("layers", "amax is zero, infinite or NaN"));
    default: return tr_layers(QT_TRANSLATE_NOOP("layers", "no finite nonzero value"));
  }
}

QString plural_of(tensor_kind kind) {
  switch (kind) {
    case tensor_kind::weight_grad: return QObject::tr("weight gradients");
    case tensor_kind::activation_grad: return QObject::tr("activation gradients");
    case tensor_kind::weight: return QObject::tr("weights");
    case tensor_kind::update: return QObject::tr("updates");
    case tensor_kind::activation: return QObject::tr("activations");
    case tensor_kind::unknown: break;
  }
  return QObject::tr("of unknown kind");
}

QString scales_text(const value_range& scales) {
  const auto text = [](double x) {
    int exponent = 0;
    return x > 0 && std::frexp(x, &exponent) == 0.5 ? QStringLiteral("2^%1").arg(exponent - 1)
                                                    : QString::fromStdString(shortest(x));
  };
  return scales.exact() ? text(scales.low) : QObject::tr("%1 to %2").arg(text(scales.low), text(scales.high));
}

}  // namespace ulp::gui
