// A multilayer perceptron on the characters before (Bengio, Ducharme, Vincent, Jauvin, JMLR 3, 2003).
#include <algorithm>
#include <utility>

#include "data/sentences.hpp"
#include "networks/layers.hpp"
#include "networks/network.hpp"

namespace ulp::train {
namespace {

constexpr std::size_t context = 8;

template <typename Real>
class mlp final : public network<Real> {
 public:
  // Braces: parameters are added in the order in which they are written.
  explicit mlp(const training_options& o)
      : width_(o.width),
        table_(this->add("embedding.weight", alphabet.size(), width_, width_, o.seed)),
        embedding_(table_),
        hidden_{"hidden", this->add("hidden.weight", 4 * width_, context * width_, context * width_, o.seed),
                &zeros("hidden.bias", 4 * width_)},
        narrow_{"narrow", this->add("narrow.weight", width_, 4 * width_, 4 * width_, o.seed),
                &zeros("narrow.bias", width_)},
        head_{"head", o.tied ? table_ : this->add("head.weight", alphabet.size(), width_, width_, o.seed),
              &zeros("head.bias", alphabet.size())} {}

  [[nodiscard]] std::size_t length() const override { return context; }

 private:
  parameter<Real>& zeros(const std::string& name, std::size_t columns) {
    parameter<Real>& made = this->add(name, 1, columns, 1, 0);
    made.value = matrix<Real>(1, columns);
    return made;
  }

  // The same values in rows of another length.
  static matrix<Real> reshaped(const matrix<Real>& m, std::size_t columns) {
    matrix<Real> made(m.values().size() / columns, columns);
    std::ranges::copy(m.values(), made.values().begin());
    return made;
  }

  matrix<Real> predict(const batch& examples, const pass<Real>& in) override {
    matrix<Real> x = reshaped(embedding_.forward(examples.characters, in), context * width_);
    x = first_bend_.forward(hidden_.forward(std::move(x), in));
    x = second_bend_.forward(narrow_.forward(std::move(x), in));
    return head_.forward(std::move(x), in);
  }

  // After the last character of each sequence.
  [[nodiscard]] std::vector<std::uint8_t> targets_of(const batch& examples) const override {
    std::vector<std::uint8_t> last;
    for (std::size_t i = context - 1; i < examples.targets.size(); i += context) last.push_back(examples.targets[i]);
    return last;
  }

  void go_back(matrix<Real> gradient, const pass<Real>& in) override {
    gradient = head_.backward(std::move(gradient), in);
    gradient = narrow_.backward(second_bend_.backward(std::move(gradient)), in);
    gradient = hidden_.backward(first_bend_.backward(std::move(gradient)), in);
    embedding_.backward(reshaped(gradient, width_), in);
  }

  std::size_t width_;
  parameter<Real>& table_;
  embedding<Real> embedding_;
  linear<Real> hidden_;
  gelu<Real> first_bend_;
  linear<Real> narrow_;
  gelu<Real> second_bend_;
  linear<Real> head_;
};

}  // namespace

template <typename Real>
std::unique_ptr<network<Real>> make_mlp(const training_options& options) {
  return std::make_unique<mlp<Real>>(options);
}
template std::unique_ptr<network<float>> make_mlp(const training_options&);
template std::unique_ptr<network<double>> make_mlp(const training_options&);

}  // namespace ulp::train
