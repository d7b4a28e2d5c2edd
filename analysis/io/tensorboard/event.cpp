#include "event.hpp"

#include <utility>

#include "wire.hpp"

namespace ulp::io {
namespace {

constexpr std::uint64_t dt_float = 1;
constexpr std::uint64_t dt_double = 2;
constexpr std::uint64_t session_start = 1;

tf_histogram parse_histogram(wire_reader in) {
  tf_histogram h;
  while (in.next()) switch (in.number()) {
      case 1: h.min = in.real64(); break;
      case 2: h.max = in.real64(); break;
      case 3: h.num = in.real64(); break;
      case 5: h.sum_squares = in.real64(); break;
      case 6: in.add_reals64(h.limits); break;
      case 7: in.add_reals64(h.counts); break;
      default: break;
    }
  return h;
}

std::vector<std::uint64_t> parse_shape(wire_reader in) {
  std::vector<std::uint64_t> shape;
  while (in.next()) {
    if (in.number() != 2) continue;
    wire_reader dimension = in.message();
    std::uint64_t size = 0;
    while (dimension.next())
      if (dimension.number() == 1) size = dimension.integer();
    shape.push_back(size);
  }
  return shape;
}

tf_tensor parse_tensor(wire_reader in) {
  tf_tensor t;
  std::uint64_t type = 0;
  const wire_reader again = in;
  while (in.next()) {
    if (in.number() == 1) type = in.integer();
    if (in.number() == 2) t.shape = parse_shape(in.message());
  }
  t.is_double = type == dt_double;
  if (type != dt_float && type != dt_double) return t;
  // Values may stand before the type.
  in = again;
  while (in.next()) {
    if (in.number() == 4) t.is_double ? in.add_reals64(t.values) : in.add_reals32(t.values);
    if (in.number() == 5 && !t.is_double) in.add_reals32(t.values);
    if (in.number() == 6 && t.is_double) in.add_reals64(t.values);
  }
  return t;
}

// SummaryMetadata { PluginData plugin_data = 1 { string plugin_name = 1 } }
std::string parse_plugin(wire_reader metadata) {
  std::string name;
  while (metadata.next()) {
    if (metadata.number() != 1) continue;
    wire_reader plugin = metadata.message();
    while (plugin.next())
      if (plugin.number() == 1) name = plugin.text();
  }
  return name;
}

tf_value parse_value(wire_reader in) {
  tf_value v;
  while (in.next()) switch (in.number()) {
      case 1: v.tag = in.text(); break;
      case 2: v.scalar = double{in.real32()}; break;
      case 5: v.histogram = parse_histogram(in.message()); break;
      case 8: v.tensor = parse_tensor(in.message()); break;
      case 9: v.plugin = parse_plugin(in.message()); break;
      default: break;
    }
  return v;
}

}  // namespace

tf_event parse_event(cursor bytes, const read_limits& limits) {
  tf_event e;
  wire_reader in(std::move(bytes));
  while (in.next()) switch (in.number()) {
      case 1: e.wall_time = in.real64(); break;
      case 2: e.step = static_cast<std::int64_t>(in.integer()); break;
      case 3: e.version = in.text(); break;
      case 5: {
        wire_reader summary = in.message();
        while (summary.next()) {
          if (summary.number() != 1) continue;
          if (e.values.size() == limits.tensors)
            in.fail("an event of more than " + std::to_string(e.values.size()) + " values; " +
                    limit_text(limits, &read_limits::tensors));
          e.values.push_back(parse_value(summary.message()));
        }
        break;
      }
      case 7: {
        wire_reader log = in.message();
        while (log.next())
          if (log.number() == 1) e.restarts = log.integer() == session_start;
        break;
      }
      default: break;
    }
  return e;
}

}  // namespace ulp::io
