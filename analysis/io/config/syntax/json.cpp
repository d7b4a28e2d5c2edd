#include <iterator>

#include <nlohmann/json.hpp>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "tree.hpp"

namespace ulp::io {
namespace {

using json = nlohmann::json;

// Characters that count the lines as they are read: the events of nlohmann's parser do not say where they are.
class counting_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  counting_iterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  counting_iterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  counting_iterator operator++(int) {
    counting_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

// "[json.exception.parse_error.101] parse error at line 3, column 9: syntax error ...", from the last colon of the place.
std::string reason_of(const std::string& what) {
  const std::size_t place = what.find("column ");
  const std::size_t colon = what.find(": ", place == std::string::npos ? 0 : place);
  const std::size_t bracket = what.find("] ");
  const std::string reason = colon != std::string::npos     ? what.substr(colon + 2)
                             : bracket != std::string::npos ? what.substr(bracket + 2)
                                                            : what;
  constexpr std::size_t longest = 200;
  return reason.size() <= longest ? reason : reason.substr(0, longest) + "...";
}

class json_handler final : public nlohmann::json_sax<json> {
 public:
  json_handler(const std::string& file, const std::size_t& line) : file_(file), line_(line), builder_(file) {}

  [[nodiscard]] config_node take() { return builder_.take(); }

  bool null() override { return put({}); }
  bool boolean(bool value) override { return number(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return number(text); }
  bool string(string_t& text) override {
    return put({.what = config_node::kind::scalar, .quoted = true, .text = text});
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    builder_.open(config_node::kind::mapping, line_);
    return true;
  }
  bool key(string_t& text) override {
    builder_.key(text, line_);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    builder_.open(config_node::kind::sequence, line_);
    return true;
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) override {
    throw input_error(file_, at_line(line_), "is not JSON: " + reason_of(problem.what()));
  }

 private:
  bool number(std::string text) { return put({.what = config_node::kind::scalar, .text = std::move(text)}); }
  bool put(config_node node) {
    builder_.put(std::move(node), line_);
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  std::string file_;
  const std::size_t& line_;
  tree_builder builder_;
};

}  // namespace

config_node parse_json(const std::string& file, std::string_view text) {
  std::size_t line = 1;
  json_handler handler(file, line);
  json::sax_parse(counting_iterator(text.data(), &line), counting_iterator(text.data() + text.size(), &line), &handler,
                  json::input_format_t::json, true, true);
  return handler.take();
}

}  // namespace ulp::io
