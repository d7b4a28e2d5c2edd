#include "export.hpp"

#include <QBuffer>
#include <QFile>
#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <algorithm>
#include <stdexcept>
#include <ulp/io/output/atomic_file.hpp>

#include "viewmodel/context.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double margin = 16;
constexpr double title_height = 44;

QString subtitle(const view& v) {
  const view_state& state = v.state();
  const loaded_run* const run = state.current_run();
  if (run == nullptr) return v.question();
  const QString under = v.shown_under();
  return shown_text(run->text.inputs.front()) +
         (run->text.inputs.size() > 1 ? QObject::tr(" and %1 more").arg(run->text.inputs.size() - 1) : QString()) +
         (under.isEmpty() ? under : " - " + under);
}

QString context_of(const view& v) {
  return context_of(
      v.state(), [&v](restriction::kind of) { return v.heeds(of); }, v.only_step());
}

// What is shown of which run, as one line.
QString description(const view& v) {
  const QString context = context_of(v);
  return context.isEmpty() ? subtitle(v) : subtitle(v) + " - " + context;
}

// Where both sides are long letters grow with them, so that they can be read once the picture is fitted to a page.
double magnification(QSize size) { return std::max(1.0, std::min(size.width() / 1500.0, size.height() / 1000.0)); }

void paint(QPainter& to, view& v, QSize whole, const theme& colours) {
  to.setRenderHint(QPainter::Antialiasing);
  to.fillRect(QRect(QPoint(0, 0), whole), colours.background);
  to.scale(magnification(whole), magnification(whole));
  const QSizeF size = QSizeF(whole) / magnification(whole);
  QFont font = v.font();
  QFont title = font;
  title.setBold(true);
  title.setPointSizeF(font.pointSizeF() + 2);
  to.setPen(colours.text);
  to.setFont(title);
  const QRectF head(margin, margin, size.width() - 2 * margin, 22);
  to.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, v.title());
  const double rest = head.width() - to.fontMetrics().horizontalAdvance(v.title()) - margin;
  to.setFont(font);
  to.setPen(colours.faint);
  to.drawText(head, Qt::AlignRight | Qt::AlignVCenter,
              to.fontMetrics().elidedText(context_of(v), Qt::ElideRight, static_cast<int>(rest)));
  to.drawText(QRectF(margin, margin + 20, size.width() - 2 * margin, 20), Qt::AlignLeft | Qt::AlignVCenter,
              to.fontMetrics().elidedText(subtitle(v), Qt::ElideMiddle, static_cast<int>(size.width() - 2 * margin)));
  v.draw(to,
         QRectF(margin, margin + title_height, size.width() - 2 * margin, size.height() - 2 * margin - title_height),
         colours);
}

std::vector<std::string> notes_of(const view& v) {
  const view_state& state = v.state();
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (std::ranges::find(all, line) == all.end()) all.push_back(line);
  };
  for (const auto& run : state.doc().runs()) {
    add(run->notes);
    add(run->warnings);
  }
  for (const replay_entry& r : state.doc().replays())
    if (r.result) {
      add(r.result->notes);
      add(r.result->warnings);
    }
  add(v.notes());
  return all;
}

QByteArray bytes_of(view& v, const QString& suffix, QSize size, const theme& colours) {
  if (suffix == "csv") return QByteArray::fromStdString(to_csv(v.data()));
  if (suffix == "json")
    return QByteArray::fromStdString(to_json(v.data(), "ulpscope." + v.key().toStdString() + "/1", notes_of(v)));
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  if (suffix == "png") {
    picture_of(v, size, colours).save(&buffer, "PNG");
  } else if (suffix == "svg") {
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(size);
    svg.setViewBox(QRect(QPoint(0, 0), size));
    svg.setResolution(v.logicalDpiX());
    svg.setTitle(v.title());
    svg.setDescription(description(v).toHtmlEscaped());  // Qt 6.4 does not
    QPainter to(&svg);
    paint(to, v, size, colours);
  } else if (suffix == "pdf") {
    QPdfWriter pdf(&buffer);
    pdf.setTitle(v.title() + " - " + description(v));
    pdf.setResolution(v.logicalDpiX());
    pdf.setPageMargins(QMarginsF(0, 0, 0, 0));
    pdf.setPageSize(QPageSize(QSizeF(size) * 72.0 / v.logicalDpiX(), QPageSize::Point, {}, QPageSize::ExactMatch));
    QPainter to(&pdf);
    paint(to, v, size, colours);
  } else {
    throw std::runtime_error("'" + suffix.toStdString() + "' is not one of png, svg, pdf, csv, json");
  }
  return buffer.data();
}

}  // namespace

QImage picture_of(view& what, QSize size, const theme& colours) {
  what.state().refine_now();
  what.catch_up_now();
  QImage image(size * 2, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(2);
  QPainter to(&image);
  paint(to, what, size, colours);
  return image;
}

QString tabbed(const table& of) {
  QString text;
  bool quoted = false;
  for (const QChar c : QString::fromStdString(to_csv(of))) {
    if (c == '"')
      quoted = !quoted;
    else if (c == '\t' || (c == '\n' && quoted))
      text += ' ';
    else
      text += c == ',' && !quoted ? '\t' : c;
  }
  return text;
}

void export_view(view& what, const QString& path, QSize size, const theme& colours) {
  what.state().refine_now();
  what.catch_up_now();
  const QString suffix = path.mid(path.lastIndexOf('.') + 1).toLower();
  const QByteArray bytes = bytes_of(what, suffix, size, colours);
  save(bytes, path, what.state().doc());
}

void save(const QByteArray& bytes, const QString& path, const document& shown) {
  const std::string name = QFile::encodeName(path).toStdString();
  for (const auto& run : shown.runs())
    if (is_one_of(name, run->text.files())) throw std::runtime_error(name + " is an input and would be overwritten");
  atomic_file file(name);
  file.write({bytes.constData(), static_cast<std::size_t>(bytes.size())});
  file.finish();
}

}  // namespace ulp::gui
