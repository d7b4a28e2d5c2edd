// Which columns of a run's table have which meaning, as users say it.
#ifndef ULP_IO_TABLE_COLUMNS_HPP
#define ULP_IO_TABLE_COLUMNS_HPP

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulp {

// "loss=train/loss,step=iter": meanings are step, epoch, loss, norm (grad_norm), lr (learning_rate), scale (loss_scale),
// found_inf, skipped, applied, rank, run, part, key and value; without a name none has that meaning. A name may hold commas
// and equals signs. Throws std::invalid_argument that says what is wrong.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_columns(std::string_view text);

}  // namespace ulp

#endif
