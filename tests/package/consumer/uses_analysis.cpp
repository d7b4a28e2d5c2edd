#include <ulp/io/source.hpp>
#include <ulp/model/scaler.hpp>
#include <ulp/report/table.hpp>

int main() { return ulp::as_power(65536) == "2^16" && ulp::source_options{}.with_sums ? 0 : 1; }
