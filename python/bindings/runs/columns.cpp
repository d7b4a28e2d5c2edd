#include "columns.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::python {
namespace {

namespace py = pybind11;

// Every integer up to it is a double.
constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;

template <typename... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

// An array of objects, from at(i) for each.
template <typename At>
py::array objects_of(std::size_t size, At at) {
  py::array array(py::dtype("O"), std::vector<py::ssize_t>{static_cast<py::ssize_t>(size)});
  auto* const places = static_cast<PyObject**>(array.mutable_data());
  for (std::size_t i = 0; i < size; ++i) {
    py::object value = at(i);
    Py_XDECREF(std::exchange(places[i], value.release().ptr()));
  }
  return array;
}

}  // namespace

py::str text_of(std::string_view text) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

py::object object_of(const plain_value& value) {
  return std::visit(overloaded{[](std::monostate) -> py::object { return py::none(); },
                               [](bool b) -> py::object { return py::bool_(b); },
                               [](std::int64_t n) -> py::object { return py::int_(n); },
                               [](double x) -> py::object {
                                 if (std::isnan(x)) return py::none();
                                 return py::float_(x);
                               },
                               [](std::string_view text) -> py::object { return text_of(text); },
                               [](const named_values* values) -> py::object { return dict_of(*values); }},
                    value);
}

py::dict dict_of(const named_values& values) {
  py::dict made;
  for (const named_value& v : values.all)
    for_each_plain(v.value, is_ranged(v.value), [&](std::string_view suffix, const plain_value& plain) {
      made[text_of(v.name + std::string{suffix})] = object_of(plain);
    });
  return made;
}

growing_column::any_value growing_column::at(std::size_t i) const {
  if (std::ranges::binary_search(gaps_, i)) return {};
  switch (kind_) {
    case kind::flags: return integers_[i] != 0;
    case kind::integers: return integers_[i];
    case kind::reals: return reals_[i];
    case kind::texts: return texts_[static_cast<std::size_t>(integers_[i])];
    case kind::objects: return objects_[i];
    case kind::nothing: break;
  }
  return {};
}

bool growing_column::integers_fit_doubles() const {
  return std::ranges::all_of(integers_, [](std::int64_t n) { return n <= exact_in_double && n >= -exact_in_double; });
}

void growing_column::become(kind wanted) {
  if (kind_ == wanted) return;
  if (kind_ == kind::nothing) {
    kind_ = wanted;
    if (wanted == kind::reals)
      reals_.assign(size_, not_known);
    else if (wanted == kind::objects)
      objects_.assign(size_, any_value{});
    else
      integers_.assign(size_, 0);
  } else if (kind_ == kind::integers && wanted == kind::reals && integers_fit_doubles()) {
    reals_.assign(integers_.begin(), integers_.end());
    for (const std::size_t i : gaps_) reals_[i] = not_known;
    kind_ = kind::reals;
    integers_ = {};
  } else if (kind_ != kind::objects) {
    for (std::size_t i = 0; i < size_; ++i) objects_.push_back(at(i));
    kind_ = kind::objects;
    integers_ = {};
    reals_ = {};
  }
}

void growing_column::put_gap() {
  gaps_.push_back(size_);
  if (kind_ == kind::reals)
    reals_.push_back(not_known);
  else if (kind_ == kind::objects)
    objects_.emplace_back();
  else if (kind_ != kind::nothing)
    integers_.push_back(0);
}

void growing_column::put(const plain_value& value) {
  const auto put_object = [&](any_value v) {
    become(kind::objects);
    objects_.push_back(std::move(v));
  };
  std::visit(overloaded{[&](std::monostate) { put_gap(); },
                        [&](bool b) {
                          become(kind::flags);
                          if (kind_ == kind::flags)
                            integers_.push_back(b ? 1 : 0);
                          else
                            put_object(b);
                        },
                        [&](std::int64_t n) {
                          const bool among_reals =
                              kind_ == kind::reals && n <= exact_in_double && n >= -exact_in_double;
                          if (among_reals) {
                            reals_.push_back(static_cast<double>(n));
                            return;
                          }
                          become(kind::integers);
                          if (kind_ == kind::integers)
                            integers_.push_back(n);
                          else
                            put_object(n);
                        },
                        [&](double x) {
                          become(kind::reals);
                          if (kind_ == kind::reals)
                            reals_.push_back(x);
                          else
                            put_object(x);
                        },
                        [&](std::string_view text) {
                          become(kind::texts);
                          if (kind_ != kind::texts) return put_object(std::string{text});
                          const auto [place, is_new] =
                              numbers_.try_emplace(std::string{text}, static_cast<std::int64_t>(texts_.size()));
                          if (is_new) texts_.push_back(place->first);
                          integers_.push_back(place->second);
                        },
                        [&](const named_values* values) { put_object(*values); }},
             value);
  ++size_;
}

py::array growing_column::array() {
  const auto or_none = [&](std::size_t i, std::size_t& gap, auto value) -> py::object {
    if (gap == gaps_.size() || gaps_[gap] != i) return value();
    ++gap;
    return py::none();
  };
  std::size_t gap = 0;
  switch (kind_) {
    case kind::nothing: return array_of(std::vector<double>(size_, not_known));
    case kind::reals: return array_of(std::move(reals_));
    case kind::flags:
      if (gaps_.empty()) return py::array(array_of(std::move(integers_)).attr("astype")("bool"));
      return objects_of(size_, [&](std::size_t i) {
        return or_none(i, gap, [&]() -> py::object { return py::bool_(integers_[i] != 0); });
      });
    case kind::integers:
      if (gaps_.empty()) return array_of(std::move(integers_));
      if (integers_fit_doubles()) {
        become(kind::reals);
        return array_of(std::move(reals_));
      }
      return objects_of(size_, [&](std::size_t i) {
        return or_none(i, gap, [&]() -> py::object { return py::int_(integers_[i]); });
      });
    case kind::texts: {
      std::vector<py::object> made;
      for (const std::string& text : texts_) made.push_back(text_of(text));
      return objects_of(size_, [&](std::size_t i) {
        return or_none(i, gap, [&] { return made[static_cast<std::size_t>(integers_[i])]; });
      });
    }
    case kind::objects: break;
  }
  return objects_of(size_, [&](std::size_t i) {
    return std::visit(overloaded{[](const named_values& values) -> py::object { return dict_of(values); },
                                 [](const std::string& text) -> py::object { return text_of(text); },
                                 [](const auto& plain) -> py::object { return object_of(plain); }},
                      objects_[i]);
  });
}

void growing_table::add(const table& part) {
  if (columns_.empty())
    for (const table_column& c : part.columns) columns_.push_back({.key = c.key, .parts = {}});
  for (const auto& row : part.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns_of_key& to = columns_[i];
      if (to.key.empty()) continue;
      for_each_plain(
          row[i], part.columns[i].range != range_keys::none, [&](std::string_view suffix, const plain_value& value) {
            const auto place = static_cast<std::size_t>(std::ranges::find(suffixes, suffix) - suffixes.begin());
            while (to.parts[place].size() < rows_) to.parts[place].put({});
            to.used[place] = true;
            to.parts[place].put(value);
          });
    }
    ++rows_;
  }
}

py::dict growing_table::arrays() {
  py::dict made;
  for (columns_of_key& c : columns_) {
    if (c.key.empty()) continue;
    c.used[0] = true;
    for (std::size_t place = 0; place < suffixes.size(); ++place) {
      if (!c.used[place]) continue;
      while (c.parts[place].size() < rows_) c.parts[place].put({});
      made[text_of(c.key + std::string{suffixes[place]})] = c.parts[place].array();
    }
  }
  columns_.clear();
  return made;
}

}  // namespace ulp::python
