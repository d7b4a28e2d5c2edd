#include <ulp/model/cells/tensor_counter.hpp>

#include <tbb/concurrent_queue.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include <ulp/model/cells/byte_order.hpp>
#include <ulp/model/cells/element_types.hpp>

namespace ulp {
namespace {

// More threads than these wait for the one that reads.
constexpr int most_chunks = 20;

using code_counts = std::vector<std::uint64_t>;  // by code

struct counting_job {
  value_chunk chunk;
  cell_table table;
  code_counts codes;
};

// The allocation is aligned for any of them, and bytes may be read as what was put there.
template <typename T>
std::span<const T> as(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

void count(counting_job& w, cell_counter& counter, std::span<const double> edges) {
  value_chunk& chunk = w.chunk;
  const std::uint64_t size = size_of(chunk.type);
  reverse_unless_native(chunk.bytes, size, chunk.order);
  if (format_of_codes(chunk.type) != nullptr) {
    w.codes.assign(std::size_t{1} << (8 * size), 0);
    if (size == 1)
      for (const std::uint8_t code : chunk.bytes) ++w.codes[code];
    else
      for (const std::uint16_t code : as<std::uint16_t>(chunk.bytes)) ++w.codes[code];
    return;
  }
  counter.set_edges(edges);
  if (chunk.type == dtype::float64)
    counter.add(as<double>(chunk.bytes));
  else
    counter.add(as<float>(chunk.bytes));
  w.table = counter.take();
}

std::vector<code_count> listed(const code_counts& counts) {
  std::vector<code_count> codes;
  for (std::size_t code = 0; code < counts.size(); ++code)
    if (counts[code] > 0) codes.push_back({.code = static_cast<std::uint32_t>(code), .count = counts[code]});
  return codes;
}

}  // namespace

struct tensor_counter::state {
  explicit state(cell_counter::with how) : what(how), counters([how] { return cell_counter(how); }) {}

  cell_counter::with what;
  tbb::enumerable_thread_specific<cell_counter> counters;
};

tensor_counter::tensor_counter(cell_counter::with what) : state_(std::make_unique<state>(what)) {}
tensor_counter::~tensor_counter() = default;

std::vector<counted_values> tensor_counter::count(std::size_t tensors, std::span<const double> edges,
                                                  const std::function<bool(value_chunk&)>& next) {
  std::vector<counted_values> all(tensors);
  std::vector<bool> counted(tensors);
  cell_counter of_codes(state_->what);
  // Codes are added up densely, of one tensor at a time.
  struct {
    std::size_t tensor = 0;
    dtype type = dtype::unknown;
    code_counts counts;
  } open;
  const auto close = [&] {
    if (open.counts.empty()) return;
    counted_values& to = all[open.tensor];
    to.codes = listed(open.counts);
    of_codes.set_edges(edges);
    of_codes.add(*format_of_codes(open.type), to.codes);
    to.table = of_codes.take();
    counted[open.tensor] = true;
    open.counts.clear();
  };
  std::vector<counting_job> works(
      static_cast<std::size_t>(std::min(tbb::this_task_arena::max_concurrency() + 1, most_chunks)));
  tbb::concurrent_queue<counting_job*> unused;
  for (counting_job& w : works) unused.push(&w);

  const auto read = [&](tbb::flow_control& control) -> counting_job* {
    counting_job* w = nullptr;
    unused.try_pop(w);  // there are as many as the pipeline has in flight
    if (next(w->chunk)) return w;
    control.stop();
    return nullptr;
  };
  const auto count_one = [&](counting_job* w) {
    ulp::count(*w, state_->counters.local(), edges);
    return w;
  };
  const auto add = [&](counting_job* w) {
    const std::size_t tensor = w->chunk.tensor;
    if (tensor != open.tensor) close();
    if (format_of_codes(w->chunk.type) != nullptr) {
      open.tensor = tensor;
      open.type = w->chunk.type;
      open.counts.resize(w->codes.size());
      for (std::size_t code = 0; code < w->codes.size(); ++code) open.counts[code] += w->codes[code];
    } else if (counted.at(tensor)) {
      all[tensor].table.merge(w->table);
    } else {
      all[tensor].table = std::move(w->table);
      counted[tensor] = true;
    }
    unused.push(w);
  };
  using tbb::filter_mode;
  tbb::parallel_pipeline(works.size(),
                         tbb::make_filter<void, counting_job*>(filter_mode::serial_in_order, read) &
                             tbb::make_filter<counting_job*, counting_job*>(filter_mode::parallel, count_one) &
                             tbb::make_filter<counting_job*, void>(filter_mode::serial_in_order, add));

  close();
  for (std::size_t i = 0; i < tensors; ++i) {
    if (counted[i]) continue;
    of_codes.set_edges(edges);
    all[i].table = of_codes.take();
  }
  return all;
}

}  // namespace ulp
