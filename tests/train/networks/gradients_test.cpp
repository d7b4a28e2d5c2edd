// Pins that what goes back through the networks is the gradient of what went forward, by differences in double precision.
#include <cmath>

#include "data/sentences.hpp"
#include "networks/network.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::train;

namespace {

batch first_of_text(std::size_t length, std::size_t sequences) {
  const std::vector<std::uint8_t> text = sentences(length * sequences + 1);
  batch made{.length = length};
  made.characters.assign(text.begin(), text.end() - 1);
  made.targets.assign(text.begin() + 1, text.end());
  return made;
}

// A few elements of each tensor, where the slope of the loss is compared with the gradient.
void check_gradients(network_kind kind, bool tied) {
  CAPTURE(kind, tied);
  const auto net = make_network<double>({.network = kind, .width = 8, .tied = tied, .seed = 42});
  const batch examples = first_of_text(net->length(), 3);
  const pass<double> in;
  constexpr double scale = 8;
  REQUIRE(net->loss(examples, in) > 0);
  net->backward(scale, in);
  for (const auto& p : net->parameters()) {
    CAPTURE(p->name);
    p->accumulate(in);
    double largest = 0;
    for (const double g : p->gradient.values()) largest = std::fmax(largest, std::fabs(g));
    CHECK(largest > 1e-6);
    const std::size_t stride = p->value.values().size() / 23 + 1;
    for (std::size_t i = 0; i < p->value.values().size(); i += stride) {
      CAPTURE(i);
      double& x = p->value.values()[i];
      const double at = x;
      constexpr double h = 1e-5;
      x = at + h;
      const double above = net->loss(examples, in);
      x = at - h;
      const double below = net->loss(examples, in);
      x = at;
      const double slope = scale * (above - below) / (2 * h);
      CHECK(std::fabs(p->gradient.values()[i] - slope) < 1e-7 * std::fmax(1, largest));
    }
  }
}

}  // namespace

TEST_CASE("gradients are the slopes of the loss") {
  for (const network_kind kind : {network_kind::mlp, network_kind::transformer})
    for (const bool tied : {false, true}) check_gradients(kind, tied);
}

TEST_CASE("an untrained network is about as good as guessing") {
  for (const network_kind kind : {network_kind::mlp, network_kind::transformer}) {
    const auto net = make_network<double>({.network = kind});
    CHECK(net->loss(first_of_text(net->length(), 50), {}) == Approx(std::log(28.0)).epsilon(0.2));
  }
}
