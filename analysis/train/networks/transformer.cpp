// A character transformer of two layers, normalised before each part (GPT-2's order), without biases.
#include <memory>
#include <utility>
#include <vector>

#include "data/sentences.hpp"
#include "networks/layers.hpp"
#include "networks/network.hpp"

namespace ulp::train {
namespace {

constexpr std::size_t characters = 16;
constexpr std::size_t heads = 2;
constexpr std::size_t layers = 2;

// x + attention(norm(x)), and that + perceptron(norm(that)): the sums are float32.
template <typename Real>
class layer {
 public:
  // `add` makes a parameter: name, rows, columns, inputs.
  template <typename Add>
  layer(const std::string& name, std::size_t width, Add add)
      : attention_norm_(name + ".attention_norm", add(name + ".attention_norm.weight", 1, width, 0)),
        qkv_(name + ".qkv", add(name + ".qkv.weight", 3 * width, width, width), nullptr),
        attention_(name + ".attention", heads, characters),
        out_(name + ".out", add(name + ".out.weight", width, width, width), nullptr),
        mlp_norm_(name + ".mlp_norm", add(name + ".mlp_norm.weight", 1, width, 0)),
        up_(name + ".up", add(name + ".up.weight", 4 * width, width, width), nullptr),
        down_(name + ".down", add(name + ".down.weight", width, 4 * width, 4 * width), nullptr) {}

  void forward(matrix<Real>& x, const pass<Real>& in) {
    x += out_.forward(attention_.forward(qkv_.forward(attention_norm_.forward(x, in), in), in), in);
    x += down_.forward(bend_.forward(up_.forward(mlp_norm_.forward(x, in), in)), in);
  }

  void backward(matrix<Real>& gradient, const pass<Real>& in) {
    gradient += mlp_norm_.backward(up_.backward(bend_.backward(down_.backward(gradient, in)), in), in);
    gradient += attention_norm_.backward(qkv_.backward(attention_.backward(out_.backward(gradient, in), in), in), in);
  }

 private:
  layer_norm<Real> attention_norm_;
  linear<Real> qkv_;
  attention<Real> attention_;
  linear<Real> out_;
  layer_norm<Real> mlp_norm_;
  linear<Real> up_;
  gelu<Real> bend_;
  linear<Real> down_;
};

template <typename Real>
class transformer final : public network<Real> {
 public:
  explicit transformer(const training_options& o)
      : table_(this->add("embedding.weight", alphabet.size(), o.width, o.width, o.seed)),
        embedding_(table_),
        positions_(this->add("positions.weight", characters, o.width, o.width, o.seed)) {
    const auto add = [&](const std::string& name, std::size_t rows, std::size_t columns,
                         std::size_t inputs) -> parameter<Real>& {
      return this->add(name, rows, columns, inputs, o.seed);
    };
    for (std::size_t i = 0; i < layers; ++i)
      layers_.push_back(std::make_unique<layer<Real>>("layers." + std::to_string(i), o.width, add));
    norm_ = std::make_unique<layer_norm<Real>>("norm", add("norm.weight", 1, o.width, 0));
    head_ = std::make_unique<linear<Real>>(
        "head", o.tied ? table_ : add("head.weight", alphabet.size(), o.width, o.width), nullptr);
  }

  [[nodiscard]] std::size_t length() const override { return characters; }

 private:
  matrix<Real> predict(const batch& examples, const pass<Real>& in) override {
    std::vector<std::uint8_t> places;
    for (std::size_t i = 0; i < examples.characters.size(); ++i)
      places.push_back(static_cast<std::uint8_t>(i % characters));
    matrix<Real> x = embedding_.forward(examples.characters, in);
    x += positions_.forward(places, in);
    for (const auto& l : layers_) l->forward(x, in);
    return head_->forward(norm_->forward(x, in), in);
  }

  void go_back(matrix<Real> gradient, const pass<Real>& in) override {
    gradient = norm_->backward(head_->backward(std::move(gradient), in), in);
    for (std::size_t i = layers_.size(); i-- > 0;) layers_[i]->backward(gradient, in);
    positions_.backward(gradient, in);
    embedding_.backward(gradient, in);
  }

  parameter<Real>& table_;
  embedding<Real> embedding_;
  embedding<Real> positions_;
  std::vector<std::unique_ptr<layer<Real>>> layers_;
  std::unique_ptr<layer_norm<Real>> norm_;
  std::unique_ptr<linear<Real>> head_;
};

}  // namespace

template <typename Real>
std::unique_ptr<network<Real>> make_transformer(const training_options& options) {
  return std::make_unique<transformer<Real>>(options);
}
template std::unique_ptr<network<float>> make_transformer(const training_options&);
template std::unique_ptr<network<double>> make_transformer(const training_options&);

}  // namespace ulp::train
