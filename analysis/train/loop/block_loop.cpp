#include <ulp/train/block_loop.hpp>

#include <stdexcept>
#include <ulp/train/optimizer_loop.hpp>

#include "arithmetic/block_casting.hpp"
#include "loop/judged_loss.hpp"

namespace ulp {
namespace {

train::judged_loss judged_loss_of(const training_options& how, train::block_casting& hook, const block_loop_options& o,
                                  const std::function<void()>& after_step) {
  training trained(how, hook, std::nullopt);
  train::judged_loss loss(o.steps, o.judged);
  for (std::int64_t i = 0; i < o.steps; ++i) {
    loss.see(i, trained.advance().recorded.scalars.loss);
    if (after_step) after_step();
  }
  return loss;
}

}  // namespace

block_loop_result run_block_loop(const block_loop_options& options, const std::function<void()>& after_step) {
  if (options.training.microbatches != 1) throw std::invalid_argument("in blocks a step has one micro-batch");
  if (options.steps < 1 || options.judged < 1 || options.judged > options.steps)
    throw std::invalid_argument("the judged steps are some of all");
  if (options.row.transposed_hadamard)
    throw std::invalid_argument(std::string{options.row.name} +
                                " transforms what it quantizes: both operands would have to be");
  train::block_casting closed(options.row, true);
  train::block_casting open(options.row, false);
  block_loop_result made{.seed = options.training.seed};
  const train::judged_loss loss = judged_loss_of(options.training, closed, options, after_step);
  const train::judged_loss twin = judged_loss_of(in_float32(options.training), open, options, after_step);
  made.loss = loss.mean();
  made.lost_from = loss.lost_from();
  made.float32_loss = twin.mean();
  made.float32_lost_from = twin.lost_from();
  std::vector<double> in_closed;
  std::vector<double> in_open;
  for (std::size_t i = 0; i < closed.tensors().size(); ++i) {
    in_closed.push_back(closed.tensors()[i].share());
    in_open.push_back(open.tensors()[i].share());
    made.tensors.push_back({closed.tensors()[i].name, closed.tensors()[i].kind, in_closed.back(), in_open.back()});
  }
  made.rank_correlation = rank_correlation(in_closed, in_open);
  return made;
}

}  // namespace ulp
