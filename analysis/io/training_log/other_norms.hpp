// Norms that are not of the gradients of the loss beside them.
#ifndef ULP_IO_TRAINING_LOG_OTHER_NORMS_HPP
#define ULP_IO_TRAINING_LOG_OTHER_NORMS_HPP

#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Sets scale_record::norm_is_repeated and loss_is_of_several. Equal norms say nothing where they are frequent, as after clipping or in few
// digits; nor beside losses that are lost one after the other where one of these has a norm of its own.
void mark_other_norms(std::vector<scale_record>& records);

}  // namespace ulp::io

#endif
